"""Connections between brokers over a listener that asks for a login."""

import asyncio
from pathlib import Path

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


def test_a_connection_logs_in_and_is_given_up_before_its_login_runs_out(tmp_path: Path) -> None:
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


def test_a_login_that_is_refused_is_told_and_leaves_no_connection(tmp_path: Path) -> None:
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
