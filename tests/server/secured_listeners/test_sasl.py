"""Listeners that ask for a login, over real sockets."""

import asyncio
import contextlib
import json
import logging
import re
import struct
from pathlib import Path

import pytest

from penstock.client.errors import AuthenticationFailed
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from penstock.protocol.messages.sasl_handshake import SaslHandshakeRequest
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import ThreadOffload
from penstock.security.principal import Principal
from penstock.security.scram_users import ScramUsers
from penstock.security.token_keys import TokenKeys
from penstock.server.broker import Broker
from penstock.server.metrics.scrape import scrape
from penstock.server.ports import real_ports
from penstock.server.secure_listeners import secure_listeners
from tests.server.raw import frame_of, read_answer
from tests.server.secured_listeners.secured import (
    RECEIVE_BYTES_MAX,
    SOFTWARE,
    Secured,
    is_ended,
)


async def test_before_the_login_only_api_versions_is_served(secured: Secured) -> None:
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


async def test_after_the_v0_handshake_tokens_come_without_a_header(secured: Secured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", secured.port("SASL_PLAINTEXT"))
    writer.write(frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 0))
    await read_answer(reader)
    token = b"\0alice\0alice-secret"
    writer.write(struct.pack(">i", len(token)) + token)
    assert await read_answer(reader) == b""
    writer.write(frame_of(MetadataRequest()))
    assert len(await read_answer(reader)) > 20
    writer.close()


async def test_a_wrong_password_is_refused_without_a_hint_and_closes_the_connection(secured: Secured) -> None:
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


async def test_logins_and_handshakes_are_counted_in_the_metrics(secured: Secured) -> None:
    login = ("PLAIN", "alice", "alice-secret")
    async with secured.connected("SASL_SSL", secured.tls(), login):
        pass
    metrics = "".join([piece async for piece in scrape(secured.live.services)])
    for name in ("penstock_logins_total", "penstock_tls_handshakes_total"):
        assert re.search(rf'{name}{{listener="SASL_SSL",outcome="success"}} [1-9]', metrics)


async def test_requests_pipelined_after_a_failed_login_are_not_answered(secured: Secured) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        login = client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        behind = [client.send(MetadataRequest()) for _ in range(3)]
        assert (await login).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        for each in behind:
            with pytest.raises(ConnectionError):
                await each


async def test_requests_pipelined_after_a_successful_login_are_answered(secured: Secured) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"))
        assert (await client.send(MetadataRequest())).cluster_id


async def test_an_unsupported_mechanism_is_answered_with_the_supported_ones(secured: Secured) -> None:
    async with secured.connected("SASL_PLAINTEXT") as client:
        answer = await client.send(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        await is_ended(client)


async def test_a_login_on_a_listener_without_sasl_is_an_illegal_state(secured: Secured) -> None:
    async with secured.connected("PLAINTEXT") as client:
        handshake = await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert handshake.error_code == ErrorCode.ILLEGAL_SASL_STATE
        answer = await client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"))
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await client.send(MetadataRequest())).cluster_id


async def test_a_reauthentication_of_a_login_without_expiry_is_an_illegal_state(secured: Secured) -> None:
    login = ("PLAIN", "alice", "alice-secret")
    async with secured.connected("SASL_PLAINTEXT", login=login) as client:
        answer = await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await client.send(MetadataRequest())).cluster_id


async def test_the_frame_size_limit_is_lower_before_the_login(secured: Secured) -> None:
    names = [MetadataRequestTopic(name=f"no-such-topic-{n:04}") for n in range(RECEIVE_BYTES_MAX // 16)]
    large = MetadataRequest(topics=names, allow_auto_topic_creation=False)
    assert len(frame_of(large)) > RECEIVE_BYTES_MAX
    async with secured.connected("SASL_PLAINTEXT") as client:
        with pytest.raises(ConnectionError):
            await client.send(large)
    async with secured.connected("SASL_PLAINTEXT", login=("PLAIN", "alice", "alice-secret")) as client:
        assert len((await client.send(large)).topics) == len(names)


async def test_json_lines_are_refused_on_a_listener_with_logins(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    from penstock.gateway.dialects import dialects  # the broker of the command has it, that of tests has not

    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.jaas.config": "PlainLoginModule required;",
    }
    broker = Broker(BrokerConfig({**settings, "log.dirs": str(tmp_path)}), real_ports(), dialects=dialects)
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
    assert "principal=User:alice" in caplog.text
    for secret in ("alice-secret", "wrong-secret"):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    ("listener", "mechanisms", "is_logged"),
    [
        ("SASL_PLAINTEXT://0.0.0.0:0", "PLAIN", True),
        ("SASL_PLAINTEXT://0.0.0.0:0", "SCRAM-SHA-256", False),
        ("SASL_PLAINTEXT://127.0.0.1:0", "PLAIN", False),
    ],
)
def test_a_listener_with_logins_in_plaintext_logs_a_warning(
    caplog: pytest.LogCaptureFixture, listener: str, mechanisms: str, is_logged: bool
) -> None:
    settings = {
        "listeners": listener,
        "sasl.enabled.mechanisms": mechanisms,
        "sasl.jaas.config": "PlainLoginModule required;",
    }
    config, clock = BrokerConfig(settings), ManualClock()
    keys = TokenKeys(ThreadOffload(1, "unused"), clock)
    secure_listeners(config.listeners, lambda: config, ScramUsers(dict, lambda: None), keys, clock)
    assert ("not encrypted" in caplog.text) is is_logged
