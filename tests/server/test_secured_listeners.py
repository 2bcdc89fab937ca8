"""Listeners that ask who somebody is, over real sockets: one broker has one of each kind."""

import asyncio
import contextlib
import json
import logging
import re
import ssl
import struct
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.client.connection import Connection
from penstock.client.errors import AuthenticationFailed
from penstock.client.settings import SaslSettings
from penstock.config.broker import BrokerConfig
from penstock.observability.clock import ManualClock
from penstock.observability.offload import ThreadOffload
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from penstock.protocol.messages.sasl_handshake import SaslHandshakeRequest
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.scram_credentials import ScramMechanism
from penstock.security.scram_users import ScramUsers
from penstock.security.token_keys import TokenKeys
from penstock.server.broker import Broker, StartFailed
from penstock.server.listener_security import secure_listeners
from penstock.server.metrics.scrape import scrape
from tests.server.live import Client, Live, batch, running_broker, until, values_in
from tests.server.raw import frame_of, read_answer
from tests.support.certificates import authority

AUTHORITY = authority()
RECEIVE_BYTES_MAX = 4096
SOFTWARE = ApiVersionsRequest(client_software_name="test", client_software_version="1")
LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "MUTUAL", "SASL_SSL")


class Secured:
    """The broker, and how to reach its listeners."""

    def __init__(self, live: Live, directory: Path) -> None:
        self.live = live
        self.directory = directory

    def port(self, listener: str) -> int:
        return next(each.port for each in self.live.broker.endpoints if each.name == listener)

    def counts(self, listener: str) -> Any:
        return self.live.broker.identity.listeners[listener].counts

    def tls(self, client: str | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=AUTHORITY.pem)
        if client is not None:
            path = AUTHORITY.issue(name=client).write(self.directory / f"{client}.pem")
            context.load_cert_chain(path)
        return context

    @contextlib.asynccontextmanager
    async def connected(
        self,
        listener: str,
        tls: ssl.SSLContext | None = None,
        login: tuple[str, str, str] | None = None,
    ) -> AsyncIterator[Client]:
        """`login` is mechanism, user and password."""
        sasl = (
            None if login is None else SaslSettings(mechanism=login[0], username=login[1], password=login[2])
        )
        connection = await Connection.open("127.0.0.1", self.port(listener), tls=tls, sasl=sasl)
        try:
            yield Client(connection)
        finally:
            connection.abort()
            await until(lambda: connection.is_lost)

    def principals(self, listener: str) -> list[Principal]:
        return [each.peer.principal for each in self.live.connections() if each.peer.listener == listener]


@pytest.fixture(scope="module")
def secured(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("secured")
    AUTHORITY.issue().write(directory / "broker.pem")
    stack = contextlib.AsyncExitStack()
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(
            f"{name}:{name if name != 'MUTUAL' else 'SSL'}" for name in LISTENERS
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.certificates": AUTHORITY.pem,
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=([a-z]+)$/$1/U",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.jaas.config": 'PlainLoginModule required user_alice="alice-secret";',
        "sasl.server.max.receive.size": str(RECEIVE_BYTES_MAX),
        "listener.name.sasl_ssl.connections.max.reauth.ms": "60000",
        "connection.failed.authentication.delay.ms": "1",
    }
    live = runner.run(stack.enter_async_context(running_broker(directory / "data", settings)))
    yield Secured(live, directory)
    runner.run(stack.aclose())


async def is_ended(client: Client) -> None:
    """Nothing is answered any more, and the broker hangs up."""
    with pytest.raises(ConnectionError):
        await client.send(MetadataRequest())


# -- SASL


async def test_before_the_login_versions_are_told_and_nothing_else(secured: Secured) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        assert (await client.send(SOFTWARE)).error_code == 0
        with pytest.raises(ConnectionError):
            await client.send(MetadataRequest())


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_plain_logs_in_with_every_version_of_sasl_authenticate(secured: Secured, version: int) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        handshake = await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert handshake.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        token = SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret")
        answer = await client.send(token, version)
        assert (answer.error_code, answer.error_message, answer.auth_bytes) == (0, None, b"")
        assert answer.session_lifetime_ms == 0
        assert (await client.send(MetadataRequest())).brokers[0].port == secured.port("SASL_PLAINTEXT")
        assert Principal("alice") in secured.principals("SASL_PLAINTEXT")


async def test_the_old_handshake_is_followed_by_bare_tokens(secured: Secured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", secured.port("SASL_PLAINTEXT"))
    writer.write(frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 0))
    await read_answer(reader)
    token = b"\0alice\0alice-secret"
    writer.write(struct.pack(">i", len(token)) + token)
    assert await read_answer(reader) == b""
    writer.write(frame_of(MetadataRequest()))
    assert len(await read_answer(reader)) > 20
    writer.close()


async def test_a_wrong_password_is_refused_without_a_hint_and_ends_the_connection(secured: Secured) -> None:
    failed = secured.counts("SASL_PLAINTEXT").failed_logins
    messages = set()
    for token in (b"\0alice\0wrong", b"\0nobody\0wrong"):
        async with secured.connected("SASL_PLAINTEXT") as client:
            await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            answer = await client.send(SaslAuthenticateRequest(auth_bytes=token))
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            messages.add(answer.error_message)
            await is_ended(client)
    assert len(messages) == 1
    assert secured.counts("SASL_PLAINTEXT").failed_logins == failed + 2


async def test_logins_and_handshakes_are_told_to_prometheus(secured: Secured) -> None:
    login = ("PLAIN", "alice", "alice-secret")
    async with secured.connected("SASL_SSL", secured.tls(), login):
        pass
    told = "".join([piece async for piece in scrape(secured.live.services)])
    for name in ("penstock_logins_total", "penstock_tls_handshakes_total"):
        assert re.search(rf'{name}{{listener="SASL_SSL",outcome="good"}} [1-9]', told)


async def test_requests_sent_behind_a_failing_login_are_not_answered(secured: Secured) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        login = client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        behind = [client.send(MetadataRequest()) for _ in range(3)]
        assert (await login).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        for each in behind:
            with pytest.raises(ConnectionError):
                await each


async def test_requests_sent_behind_a_good_login_are_answered(secured: Secured) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"))
        assert (await client.send(MetadataRequest())).cluster_id


async def test_a_mechanism_that_is_not_offered_is_told_which_are(secured: Secured) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        answer = await client.send(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        await is_ended(client)


async def test_a_login_where_none_is_asked_for_is_an_illegal_state(secured: Secured) -> None:
    async with secured.connected("PLAINTEXT") as client:
        handshake = await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert handshake.error_code == ErrorCode.ILLEGAL_SASL_STATE
        answer = await client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"))
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await client.send(MetadataRequest())).cluster_id


async def test_a_second_login_where_logins_hold_for_ever_is_an_illegal_state(secured: Secured) -> None:
    login = ("PLAIN", "alice", "alice-secret")
    async with secured.connected("SASL_PLAINTEXT", login=login) as client:
        answer = await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await client.send(MetadataRequest())).cluster_id


async def test_before_the_login_frames_are_small_and_after_it_as_large_as_anywhere(secured: Secured) -> None:
    names = [MetadataRequestTopic(name=f"no-such-topic-{n:04}") for n in range(RECEIVE_BYTES_MAX // 16)]
    large = MetadataRequest(topics=names, allow_auto_topic_creation=False)
    assert len(frame_of(large)) > RECEIVE_BYTES_MAX
    async with secured.connected("SASL_PLAINTEXT") as client:
        with pytest.raises(ConnectionError):
            await client.send(large)
    async with secured.connected("SASL_PLAINTEXT", login=("PLAIN", "alice", "alice-secret")) as client:
        assert len((await client.send(large)).topics) == len(names)


async def test_json_lines_are_not_spoken_where_a_login_is_asked_for(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    from penstock.gateway.dialects import dialects  # the broker of the command has it, that of tests has not

    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.jaas.config": "PlainLoginModule required;",
    }
    broker = Broker(BrokerConfig({**settings, "log.dirs": str(tmp_path)}), dialects=dialects)
    await broker.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.endpoints[0].port)
        writer.write(b'{"type":"produce","topic":"t","value":"x"}\n')
        line = json.loads(await reader.readline())
        assert line["error"] == "authentication_required"
        assert await reader.read() == b""
        writer.close()
    finally:
        await broker.stop()
    assert broker.services.controller.image.topics == {}


async def test_no_secret_reaches_a_log(secured: Secured, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for password in ("alice-secret", "wrong-secret"):
            with contextlib.suppress(AuthenticationFailed):
                async with secured.connected("SASL_PLAINTEXT", login=("PLAIN", "alice", password)):
                    pass
            with contextlib.suppress(AuthenticationFailed):
                async with secured.connected("SASL_PLAINTEXT", login=("SCRAM-SHA-256", "alice", password)):
                    pass
    assert "SaslAuthenticate" in caplog.text  # it was looked at the right lines
    assert "logged in as User:alice" in caplog.text
    for secret in ("alice-secret", "wrong-secret"):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    ("listener", "mechanisms", "is_told"),
    [
        ("SASL_PLAINTEXT://0.0.0.0:0", "PLAIN", True),
        ("SASL_PLAINTEXT://0.0.0.0:0", "SCRAM-SHA-256", False),
        ("SASL_PLAINTEXT://127.0.0.1:0", "PLAIN", False),
    ],
)
def test_logins_that_can_be_read_on_their_way_are_warned_of(
    caplog: pytest.LogCaptureFixture, listener: str, mechanisms: str, is_told: bool
) -> None:
    settings = {
        "listeners": listener,
        "sasl.enabled.mechanisms": mechanisms,
        "sasl.jaas.config": "PlainLoginModule required;",
    }
    config, clock = BrokerConfig(settings), ManualClock()
    keys = TokenKeys(ThreadOffload(1, "unused"), clock)
    secure_listeners(config.listeners, lambda: config, ScramUsers(dict, lambda: None), keys, clock)
    assert ("without encryption" in caplog.text) is is_told


# -- users of SCRAM


def upsertion(user: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    import hashlib

    name = ScramMechanism(mechanism).algorithm if mechanism in (1, 2) else "sha256"
    salted = hashlib.pbkdf2_hmac(name, f"{user}-secret".encode(), b"salt", iterations)
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted
    )


async def test_a_user_is_added_described_logs_in_and_is_removed(secured: Secured) -> None:
    async with secured.connected("PLAINTEXT") as admin:
        added = await admin.send(AlterUserScramCredentialsRequest(upsertions=[upsertion("carol", 2, 5000)]))
        assert [(each.user, each.error_code) for each in added.results] == [("carol", 0)]
        described = await admin.send(DescribeUserScramCredentialsRequest(users=[UserName(name="carol")]))
        [carol] = described.results
        assert [(each.mechanism, each.iterations) for each in carol.credential_infos] == [(2, 5000)]
        login = ("SCRAM-SHA-512", "carol", "carol-secret")
        async with secured.connected("SASL_PLAINTEXT", login=login) as client:
            assert (await client.send(MetadataRequest())).cluster_id
            deletion = ScramCredentialDeletion(name="carol", mechanism=2)
            removed = await admin.send(AlterUserScramCredentialsRequest(deletions=[deletion]))
            assert removed.results[0].error_code == 0
            with pytest.raises(AuthenticationFailed):
                async with secured.connected("SASL_PLAINTEXT", login=login):
                    pass
            assert (await client.send(MetadataRequest())).cluster_id  # who is in stays in


async def test_users_that_cannot_be_described_are_told_why(secured: Secured) -> None:
    async with secured.connected("PLAINTEXT") as admin:
        await admin.send(AlterUserScramCredentialsRequest(upsertions=[upsertion("dave"), upsertion("erin")]))
        names = [UserName(name=each) for each in ("dave", "nobody", "erin", "erin")]
        answer = await admin.send(DescribeUserScramCredentialsRequest(users=names))
        assert {each.user: each.error_code for each in answer.results} == {
            "dave": 0,
            "nobody": ErrorCode.RESOURCE_NOT_FOUND,
            "erin": ErrorCode.DUPLICATE_RESOURCE,
        }
        everybody = await admin.send(DescribeUserScramCredentialsRequest(users=None))
        assert {"dave", "erin"} <= {each.user for each in everybody.results}


# -- TLS


async def test_tls_needs_no_certificate_of_clients_unless_it_is_asked_for(secured: Secured) -> None:
    async with secured.connected("SSL", secured.tls()) as client:
        assert (await client.send(MetadataRequest())).cluster_id
        assert secured.principals("SSL") == [ANONYMOUS]
    with pytest.raises((ssl.SSLError, ConnectionError)):
        async with secured.connected("MUTUAL", secured.tls()) as client:
            await client.send(MetadataRequest())


async def test_the_name_of_a_certificate_is_made_by_the_listeners_rules(secured: Secured) -> None:
    async with secured.connected("MUTUAL", secured.tls("alice")) as client:
        assert (await client.send(MetadataRequest())).cluster_id
        assert secured.principals("MUTUAL") == [Principal("ALICE")]


async def test_a_certificate_that_no_rule_fits_is_not_let_in(secured: Secured) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        async with secured.connected("MUTUAL", secured.tls("007")) as client:
            await client.send(MetadataRequest())


async def test_a_login_over_tls_names_the_user(secured: Secured) -> None:
    login = ("PLAIN", "alice", "alice-secret")
    async with secured.connected("SASL_SSL", secured.tls(), login) as client:
        assert (await client.send(MetadataRequest())).cluster_id
        assert secured.principals("SASL_SSL") == [Principal("alice")]


async def test_a_login_that_runs_out_tells_when_and_is_renewed_on_its_connection(secured: Secured) -> None:
    async with secured.connected("SASL_SSL", secured.tls()) as client:
        for _ in range(2):
            assert (await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)).error_code == 0
            token = SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret")
            assert (await client.send(token)).session_lifetime_ms == 60_000
            assert (await client.send(MetadataRequest())).cluster_id


@pytest.mark.parametrize("sent", [b"\x00\x00\x00\x10" + bytes(16), b"GET / HTTP/1.0\r\n\r\n"])
async def test_who_does_not_speak_tls_is_counted_and_told_in_one_line(
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
    assert "no TLS with 127.0.0.1" in record.getMessage()
    assert secured.principals("SSL") == []


async def test_a_port_that_is_only_looked_at_is_not_worth_a_line(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        _, writer = await asyncio.open_connection("127.0.0.1", secured.port("SSL"))
        writer.close()
        await until(lambda: secured.principals("SSL") == [])
    assert caplog.records == []


async def test_a_handshake_counts_as_a_connection_until_it_is_one(secured: Secured) -> None:
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


async def test_a_new_file_is_used_by_new_connections_and_a_bad_one_is_not(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    path = secured.directory / "broker.pem"
    tls = secured.live.broker.identity.listeners["SSL"].tls
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
    assert "goes on with the certificates it had" in caplog.text
    AUTHORITY.issue().write(path)


async def test_a_new_place_of_the_key_is_used_when_the_setting_is_altered(secured: Secured) -> None:
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
        ({"listeners": "SSL://127.0.0.1:0"}, "listener SSL cannot speak TLS: there is no key"),
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
            "sasl.jaas.config does not say who they are",
        ),
    ],
)
async def test_a_broker_whose_settings_are_not_enough_does_not_start_and_says_what_is_missing(
    tmp_path: Path, settings: dict[str, str], reason: str
) -> None:
    with pytest.raises(StartFailed, match=reason):
        async with running_broker(tmp_path, settings):
            pass
