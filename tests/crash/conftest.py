"""A broker, and the killer of it."""

from collections.abc import Callable, Iterator

import pytest

from tests.crash.killing import Killer, chosen_seed
from tests.support.broker import BrokerProcess


@pytest.fixture
def broker(own_broker: BrokerProcess) -> BrokerProcess:
    return own_broker


@pytest.fixture
def killer(broker: BrokerProcess, record_property: Callable[[str, object], None]) -> Iterator[Killer]:
    seed = chosen_seed()
    print(f"CRASH_SEED={seed}")
    killer = Killer(broker, seed)
    yield killer
    killer.report(record_property, seed)
