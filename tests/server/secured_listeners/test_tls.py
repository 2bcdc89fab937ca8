"""TLS listeners, over real sockets."""

import asyncio
import logging
import ssl
from pathlib import Path

import pytest

from penstock.client.connection import Connection
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.metadata import MetadataRequest
from penstock.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from penstock.protocol.messages.sasl_handshake import SaslHandshakeRequest
from penstock.security.principal import ANONYMOUS, Principal
from penstock.server.broker import StartFailed
from tests.server.live import Client, batch, running_broker, until, values_in
from tests.server.secured_listeners.secured import (
    AUTHORITY,
    Secured,
)


async def test_client_certificates_are_required_only_if_configured(secured: Secured) -> None:
    async with secured.connected("SSL", secured.tls()) as client:
        assert (await client.send(MetadataRequest())).cluster_id
        assert secured.principals("SSL") == [ANONYMOUS]
    with pytest.raises((ssl.SSLError, ConnectionError)):
        async with secured.connected("MUTUAL", secured.tls()) as client:
            await client.send(MetadataRequest())


async def test_the_principal_of_a_certificate_follows_the_listeners_mapping_rules(secured: Secured) -> None:
    async with secured.connected("MUTUAL", secured.tls("alice")) as client:
        assert (await client.send(MetadataRequest())).cluster_id
        assert secured.principals("MUTUAL") == [Principal("ALICE")]


async def test_a_certificate_that_matches_no_rule_is_refused(secured: Secured) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        async with secured.connected("MUTUAL", secured.tls("007")) as client:
            await client.send(MetadataRequest())


async def test_a_login_over_tls_names_the_user(secured: Secured) -> None:
    login = ("PLAIN", "alice", "alice-secret")
    async with secured.connected("SASL_SSL", secured.tls(), login) as client:
        assert (await client.send(MetadataRequest())).cluster_id
        assert secured.principals("SASL_SSL") == [Principal("alice")]


async def test_a_login_reports_its_lifetime_and_is_renewed_on_its_connection(secured: Secured) -> None:
    async with secured.connected("SASL_SSL", secured.tls()) as client:
        for _ in range(2):
            assert (await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)).error_code == 0
            token = SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret")
            assert (await client.send(token)).session_lifetime_ms == 60_000
            assert (await client.send(MetadataRequest())).cluster_id


@pytest.mark.parametrize("sent", [b"\x00\x00\x00\x10" + bytes(16), b"GET / HTTP/1.0\r\n\r\n"])
async def test_a_failed_tls_handshake_is_counted_and_logged_in_one_line(
    secured: Secured, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    failed = secured.counts("SSL").failed_tls_handshakes
    with caplog.at_level(logging.INFO):
        reader, writer = await asyncio.open_connection("127.0.0.1", secured.port("SSL"))
        writer.write(sent)
        await reader.read()
        writer.close()
        await until(lambda: secured.counts("SSL").failed_tls_handshakes == failed + 1)
    [record] = caplog.records
    assert "peer=127.0.0.1" in record.getMessage()
    assert secured.principals("SSL") == []


async def test_a_port_scan_is_not_logged(secured: Secured, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        _, writer = await asyncio.open_connection("127.0.0.1", secured.port("SSL"))
        writer.close()
        await until(lambda: secured.principals("SSL") == [])
    assert caplog.records == []


async def test_a_handshake_in_progress_counts_as_a_connection(secured: Secured) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", secured.port("SSL"))
    await until(lambda: len(secured.principals("SSL")) == 1)
    async with secured.connected("SSL", secured.tls()):
        assert len(secured.principals("SSL")) == 2
    writer.close()
    await until(lambda: secured.principals("SSL") == [])


def test_tls_works_without_uvloop_too(tmp_path: Path) -> None:
    async def run() -> None:
        AUTHORITY.issue().write(tmp_path / "broker.pem")
        settings = {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.location": str(tmp_path / "broker.pem"),
            "ssl.truststore.certificates": AUTHORITY.pem,
        }
        async with running_broker(tmp_path / "data", settings) as live:
            tls = ssl.create_default_context(cadata=AUTHORITY.pem)
            connection = await Connection.open("127.0.0.1", live.port, tls=tls)
            client = Client(connection)
            topic = await client.create_topic()
            large = b"x" * 1_000_000
            assert (await client.produce(topic, batch(large))).error_code == 0
            assert values_in(await client.fetch(topic, max_bytes=1 << 22, partition_max_bytes=1 << 22)) == [
                large
            ]
            connection.abort()

    asyncio.run(run())


async def certificate_shown(secured: Secured, listener: str) -> str:
    async with secured.connected(listener, secured.tls("alice")) as client:
        tls = client.connection._transport.get_extra_info("ssl_object")
        return str(tls.getpeercert()["serialNumber"])


async def test_new_connections_use_a_changed_certificate_file_unless_it_is_invalid(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    path = secured.directory / "broker.pem"
    tls = secured.live.broker.parts.identity.listeners["SSL"].tls
    assert tls is not None
    first = await certificate_shown(secured, "SSL")
    async with secured.connected("SSL", secured.tls()) as client:
        AUTHORITY.issue().write(path)
        tls.look()
        second = await certificate_shown(secured, "SSL")
        assert second != first
        path.write_text("no certificate")
        tls.look()
        assert await certificate_shown(secured, "SSL") == second
        assert (await client.send(MetadataRequest())).cluster_id  # old connections go on
    assert "Kept the previous certificates" in caplog.text
    AUTHORITY.issue().write(path)


async def test_a_changed_key_path_applies_when_the_setting_is_altered(secured: Secured) -> None:
    other = AUTHORITY.issue().write(secured.directory / "other.pem")
    before = await certificate_shown(secured, "MUTUAL")
    change = AlterableConfig(name="listener.name.mutual.ssl.keystore.location", value=str(other))
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=[change])
    async with secured.connected("PLAINTEXT") as admin:
        answer = await admin.send(IncrementalAlterConfigsRequest(resources=[resource]))
        assert [each.error_code for each in answer.responses] == [0]
    assert await certificate_shown(secured, "MUTUAL") != before


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"listeners": "SSL://127.0.0.1:0"}, "listener SSL cannot use TLS: there is no key"),
        ({"listeners": "SASL_PLAINTEXT://127.0.0.1:0"}, "brokers log in to each other by one of"),
        (
            {"listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"},
            "sasl.enabled.mechanisms is empty",
        ),
        (
            {
                "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
                "sasl.enabled.mechanisms": "SCRAM-SHA-256",
                "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
            },
            "sasl.jaas.config has no credentials",
        ),
    ],
)
async def test_a_broker_with_incomplete_settings_does_not_start_and_names_the_missing_one(
    tmp_path: Path, settings: dict[str, str], reason: str
) -> None:
    with pytest.raises(StartFailed, match=reason):
        async with running_broker(tmp_path, settings):
            pass
