"""A real broker on a simulated machine: the product's code, with virtual time, a `FaultyDisk` and no threads."""

import asyncio
import contextlib
import gc
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from random import Random
from typing import Any, TypeVar

import msgspec

from penstock.client.connector import P, SocketConnector
from penstock.config.broker import load
from penstock.config.listeners import Endpoint
from penstock.runtime.offload import OffloadPool, Then
from penstock.server.broker import Broker
from penstock.server.network import Listener, MakeProtocol
from penstock.server.ports import Ports, compact_on_offload, no_ring
from penstock.server.socket_options import SocketOptions
from penstock.storage.files import FileSystem
from penstock.testing.offload import LoopOffload
from penstock_simulation.loop import Deadlock, SimulatedLoop
from penstock_simulation.network import RELIABLE, Conditions, SimulatedNetwork, current_node
from penstock_simulation.seeds import randomness

T = TypeVar("T")
_WALL_MS_AT_START = 1_700_000_000_000
_WORK_S_MAX = 0.002
_CHECK_S_MAX = 0.1
_SLOW_WORK_S = (0.01, 0.4)
_DESCRIPTORS = 1 << 16
_CANCELLATIONS_MAX = 5
_CANCELLATION_S = 1.0
SECRET = bytes(range(32))
"""The secret of the simulated cluster, which hostile nodes do not know."""


class SimulatedClock:
    """The loop's time as a `Clock`; `offset_ms` is the error of this machine's wall clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, offset_ms: int = 0) -> None:
        self._loop = loop
        self._wall_ms = _WALL_MS_AT_START + offset_ms

    def now_ms(self) -> int:
        return self._wall_ms + int(self._loop.time() * 1000)

    def monotonic_ms(self) -> float:
        return self._loop.time() * 1000

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)


class SimulatedOffload(LoopOffload):
    """Runs work after a time that the seed draws, and reports its end after another.

    Both are mostly short. Some are long enough for a partition to change its leader twice.
    """

    def __init__(self, loop: SimulatedLoop, longest_s: float = _WORK_S_MAX) -> None:
        super().__init__()
        self._loop = loop
        self._longest_s = longest_s
        self._node = current_node.get()
        self._process = loop.process_number(self._node)

    def call(self, work: Callable[[], object], then: Then) -> None:
        loop, random = self._loop, self._loop.random
        longest_s = self._longest_s * loop.disk_slowness.get(self._node, 1.0)
        took_s = random.uniform(0, longest_s)
        if loop.slow_work_chance and random.random() < loop.slow_work_chance:
            took_s += random.uniform(*_SLOW_WORK_S)
        done_s = random.choice((took_s, took_s, random.uniform(0, took_s)))
        loop.call_later(done_s, self._run_now, work, partial(self._end_later, took_s - done_s, then))

    def later(self, callback: Callable[..., None], work: Callable[[], object], then: Then) -> None:
        self._loop.call_later(_WORK_S_MAX, callback, work, then)

    def _end_later(self, delay_s: float, then: Then, result: object, failure: BaseException | None) -> None:
        if delay_s > 0:
            self._loop.call_later(delay_s, self._end, then, result, failure)
        else:
            self._end(then, result, failure)

    def _end(self, then: Then, result: object, failure: BaseException | None) -> None:
        if self._loop.process_number(self._node) == self._process:
            then(result, failure)


class MachineNetwork:
    """Listens at simulated names."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._sockets = SocketConnector()

    async def bind(self, endpoint: Endpoint, _options: SocketOptions) -> "BoundName":
        return BoundName(self._loop, msgspec.structs.replace(endpoint, host=current_node.get()))

    async def connect(
        self, make: Callable[[], P], host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> P:
        return await self._sockets.connect(make, host, port, tls=tls)  # the loop is simulated


class BoundName:
    def __init__(self, loop: SimulatedLoop, endpoint: Endpoint) -> None:
        self._loop = loop
        self.endpoint = endpoint

    async def listener(self, make: MakeProtocol) -> Listener:
        server = await self._loop.create_server(
            make, self.endpoint.host, self.endpoint.port, start_serving=False
        )
        self.endpoint = msgspec.structs.replace(self.endpoint, port=server.address[1])
        return server

    def socket(self) -> socket.socket:
        raise NotImplementedError("TLS is not simulated")

    def close(self) -> None:
        pass


def simulated_broker(
    loop: SimulatedLoop,
    files: FileSystem,
    *,
    seed: int,
    node_id: int = 1,
    settings: tuple[str, ...] = (),
    join: tuple[tuple[str, int], ...] = (),
    secret: bytes = SECRET,
) -> Broker:
    """Make a broker with its data in `/data` of `files`, listening on port 9092 of its machine."""
    given = [f"node.id={node_id}", "log.dirs=/data", "listeners=PLAINTEXT://simulated:9092", *settings]
    clock = SimulatedClock(loop)
    ports = Ports(
        clock=clock,
        liveness=clock,
        files=files,
        network=MachineNetwork(loop),
        randomness=randomness(seed, f"broker {node_id}"),
        threads=partial(_simulated_threads, loop),
        open_ring=no_ring,
        compactor=compact_on_offload,
        descriptor_limit=lambda: _DESCRIPTORS,
    )
    return Broker(load(None, given), ports, join=join, secret=secret)


def _simulated_threads(loop: SimulatedLoop, _count: int, name: str) -> OffloadPool:
    return SimulatedOffload(loop, _CHECK_S_MAX if name == "penstock-check" else _WORK_S_MAX)


def run_simulated(
    seed: int, work: Callable[[SimulatedLoop], Coroutine[Any, Any, T]], conditions: Conditions = RELIABLE
) -> tuple[T, list[str]]:
    """Run a coroutine on a separate loop; return its result and the trace of the network."""
    network = SimulatedNetwork(randomness(seed, "network"), conditions)
    drawn: Random = randomness(seed, "loop")
    loop = SimulatedLoop(network, drawn)
    with _no_collection():
        try:
            return loop.run_until_complete(work(loop)), loop.trace
        finally:
            _end_tasks(loop)
            loop.close()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection: it would end objects at times that no seed draws."""
    was_enabled = gc.isenabled()
    if was_enabled:
        gc.collect()  # the disks of an earlier run are large
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _end_tasks(loop: SimulatedLoop) -> None:
    """Cancel all tasks, several times if need be.

    A cleanup may wait for a disk without power, and a connection that ends releases the records of a share group in
    new tasks.
    """
    with contextlib.suppress(Deadlock):
        for _ in range(_CANCELLATIONS_MAX):
            tasks = asyncio.all_tasks(loop)
            if not tasks:
                return
            loop.run_until_complete(_cancel(tasks))


async def _cancel(tasks: "set[asyncio.Task[Any]]") -> None:
    """Cancel tasks in an order that does not depend on addresses in memory."""
    for task in sorted(tasks, key=hash):
        task.cancel()
    await asyncio.wait(tasks, timeout=_CANCELLATION_S)
