"""Listeners that are added and removed while a broker runs, by its dynamic settings."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.client.aio import Client as ClusterClient
from penstock.client.connection import Connection, Disconnected
from penstock.config.listeners import Endpoint
from penstock.embedded import Cluster
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.server.network import ListenFailed
from tests.server.live import Client, Live, code, one, running_broker, until
from tests.support.certificates import authority

MAP = "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT,SECURE:SSL,LOGIN:SASL_PLAINTEXT"
DELETE = 1


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listeners(live: Live, *more: str) -> str:
    return ",".join([f"PLAINTEXT://127.0.0.1:{live.port}", *more])


async def change(
    client: Client, settings: Mapping[str, str | None], *, trial: bool = False, broker: str = "1"
) -> tuple[str, str | None]:
    configs = [
        AlterableConfig(name=name, config_operation=DELETE if value is None else 0, value=value)
        for name, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=4, resource_name=broker, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=trial)
    answer = one((await client.send(request)).responses)
    return code(answer.error_code), answer.error_message


async def connect(port: int, **options: Any) -> Client:
    return Client(await Connection.open("127.0.0.1", port, client_id="test", **options))


async def is_open(port: int) -> bool:
    try:
        client = await connect(port)
    except OSError:
        return False
    await client.close()
    return True


async def test_an_added_listener_is_open_when_the_change_is_answered_and_connections_stay_open(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        port = free_port()
        wanted = {
            "listeners": listeners(live, f"EXTRA://127.0.0.1:{port}"),
            "listener.security.protocol.map": MAP,
        }
        assert await change(client, wanted, trial=True) == ("NONE", None)
        assert not await is_open(port)
        assert await change(client, wanted) == ("NONE", None)
        extra = await connect(port)
        assert (await extra.send(DescribeClusterRequest())).error_code == 0
        assert [(each.name, each.port) for each in live.broker.endpoints] == [
            ("PLAINTEXT", live.port),
            ("EXTRA", port),
        ]
        assert (await client.send(DescribeClusterRequest())).error_code == 0


async def test_clients_of_an_added_listener_get_the_same_metadata_as_from_kafka(tmp_path: Path) -> None:
    """The registration is unchanged: no client is directed to the new listener."""
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await change(
            client,
            {
                "listeners": listeners(live, f"EXTRA://127.0.0.1:{(port := free_port())}"),
                "listener.security.protocol.map": MAP,
            },
        )
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)])
        known = await client.send(request)
        assert [each.port for each in known.brokers] == [live.port]
        assert [code(p.error_code) for p in known.topics[0].partitions] == ["NONE"]
        extra = await connect(port)
        for version, error in ((12, "LISTENER_NOT_FOUND"), (5, "LEADER_NOT_AVAILABLE")):
            answer = await extra.send(request, version)
            assert answer.brokers == []
            assert [(code(p.error_code), p.leader_id) for p in answer.topics[0].partitions] == [(error, -1)]


async def test_a_removed_listener_is_closed_with_its_connections(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        port = free_port()
        await change(
            client,
            {
                "listeners": listeners(live, f"EXTRA://127.0.0.1:{port}"),
                "listener.security.protocol.map": MAP,
            },
        )
        extra = await connect(port)
        # The request that removes it comes over the listener itself, and is still answered.
        removal: dict[str, str | None] = {"listeners": None, "listener.security.protocol.map": None}
        assert await change(extra, removal) == ("NONE", None)
        await until(lambda: extra.connection.is_lost)
        assert not await is_open(port)
        assert [each.name for each in live.broker.endpoints] == ["PLAINTEXT"]
        assert (await client.send(DescribeClusterRequest())).error_code == 0


async def test_a_dynamic_listener_is_open_after_a_restart(tmp_path: Path) -> None:
    port, base = free_port(), free_port()
    settings = {"listeners": f"PLAINTEXT://127.0.0.1:{base}"}
    async with running_broker(tmp_path, settings) as live:
        wanted = {
            "listeners": listeners(live, f"EXTRA://127.0.0.1:{port}"),
            "listener.security.protocol.map": MAP,
        }
        assert (await change(await live.connect(), wanted))[0] == "NONE"
    assert not await is_open(port)
    async with running_broker(tmp_path, settings) as live:
        assert await is_open(port)
        removal: dict[str, str | None] = {"listeners": None}
        assert (await change(await live.connect(), removal))[0] == "NONE"
        assert not await is_open(port)


async def test_a_broker_starts_without_a_dynamic_listener_whose_address_is_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    async with running_broker(tmp_path) as live:
        wanted = {
            "listeners": listeners(live, f"EXTRA://127.0.0.1:{port}"),
            "listener.security.protocol.map": MAP,
        }
        assert (await change(await live.connect(), wanted))[0] == "NONE"
    with socket.create_server(("127.0.0.1", port)):
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            assert (await client.send(DescribeClusterRequest())).error_code == 0
            assert (await change(client, {"max.connections": "50"}))[0] == "NONE", (
                "it has nothing to do with it"
            )
    line = next(each for each in caplog.messages if each.startswith("Cannot open a listener"))
    assert f"cannot listen on 127.0.0.1:{port}" in line
    assert line.endswith("listener=EXTRA")


async def test_listeners_that_cannot_be_opened_or_removed_are_refused_with_the_reason(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        port, other = free_port(), free_port()
        added = {
            "listeners": listeners(live, f"EXTRA://127.0.0.1:{port}"),
            "listener.security.protocol.map": MAP,
        }
        assert (await change(client, added))[0] == "NONE"
        with socket.create_server(("127.0.0.1", other)):
            await refused(
                client,
                {"listeners": f"{added['listeners']},SECOND://127.0.0.1:{other}"},
                {"listener.security.protocol.map": f"{MAP},SECOND:PLAINTEXT"},
                reason=f"cannot listen on 127.0.0.1:{other}: Address already in use",
            )
        for value, reason in {
            f"EXTRA://127.0.0.1:{port}": "Advertised listeners 'PLAINTEXT' must be a subset of listeners 'EXTRA'",
            f"EXTRA://127.0.0.1:{port},PLAINTEXT://127.0.0.1:{live.port}": "Brokers would use listener EXTRA among",
            listeners(
                live, f"EXTRA://127.0.0.1:{other}"
            ): f"Listener EXTRA is open on 127.0.0.1:{port}, which",
            listeners(live, f"NEW://127.0.0.1:{other}"): "no security protocol is defined for listener NEW",
            listeners(live, f"SECURE://127.0.0.1:{other}"): "listener SECURE cannot use TLS: there is no key",
            listeners(live, f"LOGIN://127.0.0.1:{other}"): "sasl.enabled.mechanisms is empty",
            "nonsense": "Invalid value nonsense for configuration listeners",
        }.items():
            await refused(client, {"listeners": value}, reason=reason)
        await refused(
            client,
            {"listener.security.protocol.map": MAP.replace("EXTRA:PLAINTEXT", "EXTRA:SSL")},
            reason="Security protocol cannot be updated for existing listener EXTRA",
        )
        assert await is_open(port)
        assert not await is_open(other)


async def refused(client: Client, *settings: dict[str, str], reason: str) -> None:
    wanted = {name: value for each in settings for name, value in each.items()}
    for trial in (True, False):
        error, message = await change(client, wanted, trial=trial)
        assert (error, reason in (message or "")) == ("INVALID_REQUEST", True), message


async def test_a_listener_with_tls_is_added_with_settings_of_its_own(tmp_path: Path) -> None:
    vouches = authority()
    key = vouches.issue().write(tmp_path / "broker.pem")
    async with running_broker(tmp_path / "data") as live:
        client = await live.connect()
        port = free_port()
        wanted = {
            "listeners": listeners(live, f"SECURE://127.0.0.1:{port}"),
            "listener.security.protocol.map": MAP,
            "listener.name.secure.ssl.keystore.location": str(key),
        }
        assert await change(client, wanted) == ("NONE", None)
        secure = await connect(port, tls=ssl.create_default_context(cadata=vouches.pem))
        assert (await secure.send(DescribeClusterRequest())).error_code == 0
        await secure.close()
        assert await change(client, dict.fromkeys(wanted)) == ("NONE", None)
        assert not await is_open(port)


async def is_served_without_login(port: int) -> bool:
    client = await connect(port)
    try:
        return bool(await client.send(DescribeClusterRequest()))
    except Disconnected:
        return False
    finally:
        await client.close()


async def test_a_listener_with_logins_added_twice_concurrently_requires_logins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is when a broker starts and its settings are changed in the same moment."""

    async def not_yet() -> None: ...

    async with running_broker(tmp_path) as live:
        port, changes = free_port(), live.broker.parts.listeners
        wanted = {
            "listeners": listeners(live, f"LOGIN://127.0.0.1:{port}"),
            "listener.security.protocol.map": MAP,
            "listener.name.login.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        }
        with monkeypatch.context() as patched:
            patched.setattr(changes, "follow", not_yet)
            assert await change(await live.connect(), wanted) == ("NONE", None)

        await asyncio.gather(changes.follow(), changes.follow())

        assert await is_open(port)
        assert not await is_served_without_login(port)
        live.broker.parts.identity.forget("LOGIN")  # what is open goes by what it was opened with
        assert not await is_served_without_login(port)


async def test_a_listener_without_security_settings_is_not_opened(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        for protocol in ("SASL_PLAINTEXT", "SSL", "SASL_SSL"):
            endpoint = Endpoint(name="EXTRA", host="127.0.0.1", port=free_port(), security_protocol=protocol)
            with pytest.raises(ListenFailed, match=f"listener EXTRA has no {protocol} settings"):
                await live.broker.parts.server.open(endpoint)
            assert not await is_open(endpoint.port)


async def test_settings_of_another_broker_must_be_sent_to_that_broker(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        for broker, message in {
            "2": "Unexpected broker id, expected 1, but received 2",
            "x": "Node id must be an integer, but it is: x",
        }.items():
            assert await change(client, {"max.connections": "5"}, broker=broker) == (
                "INVALID_REQUEST",
                message,
            )


def test_a_broker_validates_its_own_listeners_wherever_the_controller_is() -> None:
    with Cluster(3) as cluster:
        ports = {node: free_port() for node in (1, 2, 3)}

        async def send(client: ClusterClient, node: int, to: int, port: int) -> tuple[str, str | None]:
            base = (await client.request(node, MetadataRequest())).brokers
            own = next(each.port for each in base if each.node_id == node)
            value = f"PLAINTEXT://127.0.0.1:{own},EXTRA://127.0.0.1:{port}"
            configs = [
                AlterableConfig(name="listeners", value=value),
                AlterableConfig(name="listener.security.protocol.map", value=MAP),
            ]
            resource = AlterConfigsResource(resource_type=4, resource_name=str(node), configs=configs)
            answer = one(
                (await client.request(to, IncrementalAlterConfigsRequest(resources=[resource]))).responses
            )
            return code(answer.error_code), answer.error_message

        async def scenario() -> None:
            async with ClusterClient(cluster.bootstrap_servers) as client:
                for node, port in ports.items():
                    other = node % 3 + 1
                    message = f"Unexpected broker id, expected {other}, but received {node}"
                    assert await send(client, node, other, port) == ("INVALID_REQUEST", message)
                    with socket.create_server(("127.0.0.1", port)):
                        error, message_of_broker = await send(client, node, node, port)
                        assert error == "INVALID_REQUEST"
                        assert f"cannot listen on 127.0.0.1:{port}" in str(message_of_broker)
                    assert await send(client, node, node, port) == ("NONE", None)
                    while not await is_open(
                        port
                    ):  # another node has decided: this one hears of it a moment later
                        await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(scenario(), 60))
