"""A broker with ACLs for the tests of permissions; every test uses names of its own."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from tests.server.guarded import Guarded, guarded_broker


@pytest.fixture(scope="session")
def guarded(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    stack = contextlib.AsyncExitStack()
    yield runner.run(stack.enter_async_context(guarded_broker(tmp_path_factory.mktemp("guarded"))))
    runner.run(stack.aclose())
