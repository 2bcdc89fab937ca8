"""A topic of changes into tables, with driver, Python workers and broker killed at random: the tables equal a model.

UPSERT_CHANGES (default 100,000), UPSERT_KEYS (10,000), UPSERT_KILLS (10) and UPSERT_BATCHES (40) set the size.
"""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.spark.lake.formats import open_table
from tests.crash.killing import chosen_seed
from tests.spark.lake.merge.driver import TABLES
from tests.spark.lake.merge.model import Model, Row
from tests.spark.lake.merge.support import change_of, tuples
from tests.spark.lake.support import read
from tests.spark.lake.test_kills import Driver, Victim, driver_with_batches, finish, strike
from tests.spark.source.topics import new_topic, produce
from tests.support.broker import BrokerProcess

pytestmark = pytest.mark.xdist_group("spark")

CHANGES = int(os.environ.get("UPSERT_CHANGES", "100000"))
KEYS = int(os.environ.get("UPSERT_KEYS", "10000"))
KILLS = int(os.environ.get("UPSERT_KILLS", "10"))
PARTITIONS = 2
BATCHES = int(os.environ.get("UPSERT_BATCHES", "40"))
FINISH_TIMEOUT_S = 3_600.0
DELETED, REPEATED = 0.15, 0.05
LATE_BY_MAX = 2_000
VICTIMS: tuple[Victim, ...] = ("driver", "worker", "broker")


def shuffled_changes(chance: random.Random) -> Iterator[Row]:
    """Yield inserts, updates and deletions of random keys, most of them out of order, some of them again later."""
    every: list[tuple[float, Row]] = []
    for order in range(CHANGES):
        change = change_of(chance.randrange(KEYS), order, f"v{order}", is_deleted=chance.random() < DELETED)
        every.append((order + chance.uniform(0, LATE_BY_MAX), change))
        if chance.random() < REPEATED:
            every.append((order + chance.uniform(0, 10 * LATE_BY_MAX), change))
    every.sort(key=lambda each: each[0])
    yield from (change for _, change in every)


def encoded(change: Row) -> bytes:
    return json.dumps({**change, "deleted": change["_deleted"]}).encode()


@pytest.fixture
def seed(record_property: Callable[[str, object], None]) -> int:
    chosen = chosen_seed()
    record_property("crash", f"seed {chosen}")
    return chosen


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_tables_equal_the_model_after_many_kills(
    own_broker: BrokerProcess, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    topic = new_topic(own_broker.bootstrap, partitions=PARTITIONS)
    changes = list(shuffled_changes(chance))
    flag = f"--batch={max(1, len(changes) // BATCHES)}"
    drivers: list[Driver] = []

    def start(*flags: str) -> Driver:
        module = "tests.spark.lake.merge.driver"
        drivers.append(Driver(own_broker, topic, tmp_path, flag, *flags, module=module))
        return drivers[-1]

    try:
        for kill in range(KILLS):
            part = _part(changes, kill)
            for partition in range(PARTITIONS):
                values = [encoded(change) for change in part[partition::PARTITIONS]]
                produce(own_broker.bootstrap, topic, values, partition=partition)
            driver = driver_with_batches(drivers[-1] if drivers else start(), start, chance.randint(1, 8))
            time.sleep(chance.uniform(0, 0.5))  # the moment is what is drawn
            strike(VICTIMS[kill % len(VICTIMS)], driver, own_broker, chance)
        drivers[-1].kill()
        finish(start, FINISH_TIMEOUT_S)
    finally:
        for each in drivers:
            each.kill()
    model = Model()
    model.apply(0, changes)
    for name in TABLES:
        found = tuples(read(open_table(str(tmp_path / "tables" / name))))
        expected: list[tuple[object, ...]] = [*(model.history() if "scd2" in name else model.latest())]
        assert found == expected, f"{name}: {len(found)} rows, {len(expected)} expected, seed {seed}"


def _part(changes: list[Row], number: int) -> list[Row]:
    size = -(-len(changes) // KILLS)
    return changes[number * size : (number + 1) * size]
