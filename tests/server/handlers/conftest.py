"""A broker with ACLs for the tests of permissions; every test uses names of its own."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.server.guarded import Guarded, guarded_broker
from tests.server.live import held


@pytest.fixture(scope="session")
def guarded(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with held(runner, guarded_broker(tmp_path_factory.mktemp("guarded"))) as broker:
        yield broker
