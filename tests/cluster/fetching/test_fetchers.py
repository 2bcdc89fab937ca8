"""Which leaders are fetched from, and until when."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from penstock.cluster.fetching.fetchers import Fetchers

LEADER = 1


def replica_of(number: int, leader: int = LEADER) -> Any:
    return SimpleNamespace(
        topic_id=b"t" * 16, partition=number, leader_id=leader, is_leader=False, leader_epoch=0
    )


def fetchers() -> Fetchers:
    brokers = {number: SimpleNamespace(endpoints=(), epoch=0) for number in (1, 2, 3)}
    waiting = SimpleNamespace(holds_back=lambda *_: True)
    clock = SimpleNamespace(monotonic_ms=lambda: 0.0, sleep=lambda _ms: asyncio.Event().wait())
    unused = cast("Any", None)
    return Fetchers(
        3,
        cast("Any", SimpleNamespace(brokers=brokers)),
        unused,
        unused,
        cast("Any", SimpleNamespace(backoff_ms=1000)),
        throttle=cast("Any", waiting),
        clock=cast("Any", clock),
    )


def fetching() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("fetch")}


def test_a_leader_without_followed_partitions_is_no_longer_fetched_from() -> None:
    async def scenario() -> None:
        followed = fetchers()
        followed.follow([replica_of(0), replica_of(1, leader=2)])
        assert fetching() == {"fetch from broker 1", "fetch from broker 2"}
        followed.leave(b"t" * 16, 1)
        await followed.stop()
        assert fetching() == set()

    asyncio.run(scenario())


def test_nothing_is_fetched_after_the_stop_even_if_the_metadata_changes() -> None:
    async def scenario() -> None:
        followed = fetchers()
        followed.follow([replica_of(0)])
        await followed.stop()
        followed.follow([replica_of(0), replica_of(1)])
        followed.brokers_changed([LEADER], lambda: [replica_of(0)])
        assert fetching() == set()

    asyncio.run(scenario())
