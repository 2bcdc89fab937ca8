"""Connections between brokers over a listener with SASL."""

import asyncio
import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.client.connection import Connection, Disconnected
from penstock.client.errors import AuthenticationFailed
from penstock.client.settings import SaslSettings
from penstock.protocol.messages.metadata import MetadataRequest
from tests.server.live import running_broker, until

METADATA = (3, 12)
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.jaas.config": 'PlainLoginModule required user_broker="secret";',
    "connections.max.reauth.ms": "60000",
}


def test_a_connection_logs_in_and_is_retired_before_its_login_expires(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            port = live.broker.endpoints[1].port
            sasl = SaslSettings(mechanism="PLAIN", username="broker", password="secret")
            connection = await Connection.open("127.0.0.1", port, sasl=sasl)
            assert (await connection.call(*METADATA, MetadataRequest())).cluster_id
            assert connection._expiry is not None  # before a minute has passed
            under_way = connection.call(*METADATA, MetadataRequest())
            connection._retire()
            assert connection.is_lost
            with pytest.raises(Disconnected, match="renewed"):
                await connection.call(*METADATA, MetadataRequest())
            assert (await under_way).cluster_id
            await until(connection._transport.is_closing)

    asyncio.run(run())


def test_a_refused_login_is_raised_and_leaves_no_connection(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_broker(
            tmp_path, {**SETTINGS, "connection.failed.authentication.delay.ms": "0"}
        ) as live:
            sasl = SaslSettings(mechanism="PLAIN", username="broker", password="wrong")
            with pytest.raises(AuthenticationFailed, match="Invalid username or password") as refused:
                await Connection.open("127.0.0.1", live.broker.endpoints[1].port, sasl=sasl)
            assert "wrong" not in str(refused.value)
            await until(lambda: not live.connections())

    asyncio.run(run())


def test_a_scram_password_is_hashed_on_a_thread_and_not_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    hashed = hashlib.pbkdf2_hmac

    def watched(*arguments: Any) -> bytes:
        threads.append(threading.current_thread())
        return hashed(*arguments)

    async def run() -> None:
        settings = {
            **SETTINGS,
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "connection.failed.authentication.delay.ms": "0",
        }
        async with running_broker(tmp_path, settings) as live:
            monkeypatch.setattr(hashlib, "pbkdf2_hmac", watched)
            sasl = SaslSettings(mechanism="SCRAM-SHA-512", username="broker", password="wrong")
            with pytest.raises(AuthenticationFailed):
                await Connection.open("127.0.0.1", live.broker.endpoints[1].port, sasl=sasl)

    asyncio.run(run())
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
