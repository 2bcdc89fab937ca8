"""A broker reaches the machine through its ports alone, and embedded mode and the simulation use it as it is."""

import importlib
import ssl
from collections.abc import Callable
from pathlib import Path

import msgspec

from penstock.client.connector import P
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.runtime.offload import ThreadOffload
from penstock.server.broker import Broker
from penstock.server.network import BoundSocket, SocketNetwork
from penstock.server.ports import Ports, real_ports
from penstock.server.socket_options import SocketOptions


class NotingNetwork(SocketNetwork):
    def __init__(self) -> None:
        self.bound: list[str] = []
        self.dialed: list[int] = []

    async def bind(self, endpoint: Endpoint, options: SocketOptions) -> BoundSocket:
        self.bound.append(endpoint.name)
        return await super().bind(endpoint, options)

    async def connect(
        self, make: Callable[[], P], host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> P:
        self.dialed.append(port)
        return await super().connect(make, host, port, tls=tls)


class NotingThreads(ThreadOffload):
    def __init__(self, thread_count_max: int, name: str, closed: list[str]) -> None:
        super().__init__(thread_count_max, name)
        self._pool_name = name
        self._closed = closed

    def close(self) -> None:
        self._closed.append(self._pool_name)
        super().close()


def config_in(directory: Path, node_id: int) -> BrokerConfig:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(directory),
        "node.id": str(node_id),
    }
    return BrokerConfig(settings)


def ports_with(network: NotingNetwork) -> Ports:
    return msgspec.structs.replace(real_ports(), network=network)


def test_all_brokers_are_of_one_class() -> None:
    for module in ("penstock.embedded.node", "penstock_simulation.broker"):
        importlib.import_module(module)
    assert Broker.__subclasses__() == []


async def test_a_broker_listens_and_dials_through_its_network(tmp_path: Path) -> None:
    networks = NotingNetwork(), NotingNetwork()
    first = Broker(config_in(tmp_path / "1", 1), ports_with(networks[0]))
    await first.start()
    try:
        member = first.endpoints[0]
        second = Broker(
            config_in(tmp_path / "2", 2),
            ports_with(networks[1]),
            join=[(member.host, member.port)],
            secret=first.secret.value,
        )
        await second.start()
        await second.stop()
    finally:
        await first.stop()
    assert [each.bound for each in networks] == [["PLAINTEXT"], ["PLAINTEXT"]]
    assert member.port in networks[1].dialed


async def test_a_stop_closes_all_thread_pools_of_a_broker(tmp_path: Path) -> None:
    asked: list[str] = []
    closed: list[str] = []

    def threads(count: int, name: str) -> NotingThreads:
        asked.append(name)
        return NotingThreads(count, name, closed)

    broker = Broker(config_in(tmp_path, 1), msgspec.structs.replace(real_ports(), threads=threads))
    await broker.start()
    assert closed == []
    await broker.stop()
    assert sorted(closed) == sorted(asked) == ["penstock-check", "penstock-read", "penstock-sync"]
