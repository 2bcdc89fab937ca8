"""A broker with its admin port, in the loop in which `async def` tests run; every test makes its own topics."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from penstock.client.aio import Client
from tests.gateway.http.admin import Admin, admin_of
from tests.server.conftest import pytest_pyfunc_call, runner
from tests.server.live import held, running_broker

__all__ = ["pytest_pyfunc_call", "runner"]

SETTINGS = {
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="session")
def admin(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:

    @contextlib.asynccontextmanager
    async def served() -> AsyncIterator[Admin]:
        async with (
            running_broker(tmp_path_factory.mktemp("gateway"), SETTINGS) as live,
            admin_of(live.broker) as url,
            aiohttp.ClientSession(url) as http,
            Client(f"127.0.0.1:{live.port}") as kafka,
        ):
            yield Admin(url, http, kafka, live.broker)

    with held(runner, served()) as admin:
        yield admin
