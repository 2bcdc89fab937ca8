"""One broker for most tests, in one event loop in which `async def` tests run too; every test makes its own topics."""

import asyncio
import inspect
from collections.abc import Iterator

import pytest
import uvloop

from tests.server.live import Client, Live, held, running_broker, within


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner


@pytest.fixture(scope="session")
def live(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The broker that tests share. It only runs while a test does."""
    directory = tmp_path_factory.mktemp("broker")
    with held(runner, running_broker(directory)) as broker:
        yield broker


@pytest.fixture
def client(runner: asyncio.Runner, live: Live) -> Iterator[Client]:
    client = runner.run(live.connect())
    yield client
    runner.run(client.close())


@pytest.fixture
def other_broker(runner: asyncio.Runner, live: Live) -> Iterator[Client]:
    """A connection of another broker of the cluster."""
    client = runner.run(live.connect_as_broker())
    yield client
    runner.run(client.close())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests in the loop that the fixtures live in."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    runner: asyncio.Runner = pyfuncitem._request.getfixturevalue("runner")
    names = pyfuncitem._fixtureinfo.argnames
    runner.run(within(60, pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})))
    return True
