"""Connections are acquired, released and closed."""

from typing import Any

import pytest

from penstock.client.blocking.connection import BlockingConnection
from penstock.client.blocking.pool import ConnectionPool
from penstock.client.connection import Disconnected
from penstock.client.settings import ClientSettings
from penstock.protocol.headers import RequestHeader
from penstock.protocol.messages import api_versions, metadata
from tests.client.blocking.serving import ALL_VERSIONS, serving

ASK = metadata.MetadataRequest(topics=[])


def answer(header: RequestHeader, _: Any) -> Any:
    return ALL_VERSIONS if header.api_key == api_versions.API_KEY else metadata.MetadataResponse()


def make_pool() -> ConnectionPool:
    settings = ClientSettings(bootstrap_servers=())
    return ConnectionPool(lambda host, port: BlockingConnection.open(host, port, settings))


def test_a_free_connection_is_reused_and_one_in_use_is_not() -> None:
    pool = make_pool()
    with serving(answer) as address:
        with pool.lent(address) as first, pool.lent(address) as second:
            assert first is not second
        with pool.lent(address) as third:
            assert third is first or third is second
        pool.close()
        assert not third.is_open


def test_a_connection_with_an_outstanding_answer_is_closed() -> None:
    pool = make_pool()
    with serving(answer) as address:
        with pool.lent(address) as first:
            first.send(metadata.API_KEY, 12, ASK)
        assert not first.is_open
        with pool.lent(address) as second:
            assert second.call(metadata.API_KEY, 12, ASK).brokers == []


def test_a_broken_connection_closes_the_idle_ones_to_that_broker() -> None:
    pool = make_pool()
    with serving(answer) as address:
        with pool.lent(address) as idle, pool.lent(address):
            pass
        with pytest.raises(Disconnected), pool.lent(address):
            raise Disconnected("gone")
        with pool.lent(address) as fresh:
            assert fresh is not idle
        pool.close()
