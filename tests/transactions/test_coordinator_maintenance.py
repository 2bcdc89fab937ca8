"""Maintenance of transactions: timeouts abort, unused ids expire, and restarts change nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.runtime.clock import ManualClock
from penstock.transactions.state import Transaction
from penstock.transactions.states import State
from tests.server.live import Live, running_broker, until
from tests.transactions.live_producer import READ_COMMITTED, LiveProducer

SETTINGS = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}
DAY_MS = 86_400_000


def state_of(live: Live, transactional_id: str) -> State | None:
    transaction = live.services.transactions.get(transactional_id)
    return transaction.state if isinstance(transaction, Transaction) else None


@pytest.mark.parametrize("is_v2", [False, True], ids=["version-1", "version-2"])
async def test_a_transaction_is_aborted_at_its_timeout_and_not_before(tmp_path: Path, is_v2: bool) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic()
        slow = LiveProducer(client, "slow", is_v2=is_v2, clock=clock)
        await slow.init(timeout_ms=30_000)
        await slow.write(topic, b"late")
        clock.advance(30_000)
        live.services.transactions.abort_timed_out()
        assert state_of(live, "slow") is State.ONGOING
        clock.advance(10_000)  # the next look at what is late
        await until(lambda: state_of(live, "slow") is State.COMPLETE_ABORT)
        part = await client.fetch(topic, isolation_level=READ_COMMITTED)
        assert part.last_stable_offset == part.high_watermark == 2
        assert [each.first_offset for each in part.aborted_transactions or ()] == [0]
        assert await slow.end(commit=True) is ErrorCode.PRODUCER_FENCED
        assert await slow.produce(topic, b"later still") is ErrorCode.INVALID_PRODUCER_EPOCH
        await client.close()


@pytest.mark.parametrize("is_v2", [False, True], ids=["version-1", "version-2"])
async def test_a_batch_of_an_ended_transaction_is_not_stored_in_a_recreated_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_v2: bool
) -> None:
    clock, is_asked, may_answer = ManualClock(), asyncio.Event(), asyncio.Event()

    def held_back(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def ask_and_wait(*question: Any) -> Any:
            answer = await ask(*question)
            is_asked.set()
            await may_answer.wait()
            return answer

        return ask_and_wait

    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client, other = await live.connect(), await live.connect()
        topic = await client.create_topic()
        mine = LiveProducer(client, "mine", is_v2=is_v2, clock=clock)
        await mine.init(timeout_ms=30_000)
        for name in ("verify", "add_partitions"):
            verifier = live.services.admissions.verifier
            monkeypatch.setattr(verifier, name, held_back(getattr(verifier, name)))
        if not is_v2:
            assert await mine.add(topic, 0) is ErrorCode.NONE
        by_name = 12 if is_v2 else 11  # from 13 on a request names the id of its topic
        late = asyncio.ensure_future(mine.produce(topic, b"late", version=by_name))
        await is_asked.wait()
        await other.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=1000))
        clock.advance(40_000)
        await until(lambda: state_of(live, "mine") is State.COMPLETE_ABORT)
        await other.create_topic(name=topic.name)

        may_answer.set()
        assert await late is ErrorCode.NOT_LEADER_OR_FOLLOWER

        leader = live.services.replicas.leader_of(topic.name, 0)
        assert isinstance(leader, Replica)
        assert leader.log.log_end_offset == 0
        await client.close()
        await other.close()


async def test_a_two_phase_transaction_never_times_out(tmp_path: Path) -> None:
    clock = ManualClock()
    settings = {**SETTINGS, "transaction.two.phase.commit.enable": "true"}
    async with running_broker(tmp_path, settings, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic()
        prepared = LiveProducer(client, "two-phase", clock=clock)
        assert await prepared.init(timeout_ms=0, version=6, enable2_pc=True) is ErrorCode.NONE
        await prepared.write(topic, b"x")
        clock.advance(20 * DAY_MS)
        live.services.transactions.abort_timed_out()
        assert state_of(live, "two-phase") is State.ONGOING
        assert await prepared.end(commit=True) is ErrorCode.NONE
        await client.close()


async def test_an_unused_id_expires_after_a_week_and_is_removed_from_the_log(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic()
        quiet = LiveProducer(client, "quiet", clock=clock)
        busy = LiveProducer(client, "busy", clock=clock)
        await quiet.init()
        await busy.init(timeout_ms=900_000)
        first_id = quiet.producer_id
        clock.advance(7 * DAY_MS - 1)
        await busy.write(topic, b"x")
        live.services.transactions.expire()
        assert state_of(live, "quiet") is State.EMPTY
        clock.advance(1)
        live.services.transactions.expire()
        assert state_of(live, "quiet") is None
        assert state_of(live, "busy") is State.ONGOING
        assert await quiet.produce(topic, b"x") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
        await client.close()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        client = await live.connect()
        again = LiveProducer(client, "quiet")
        await again.init()
        await until(lambda: state_of(live, "busy") is State.ONGOING)  # its coordinator may still be loading
        assert (again.producer_id != first_id, again.epoch) == (True, 0)
        await client.close()


@pytest.mark.parametrize("is_v2", [False, True], ids=["version-1", "version-2"])
async def test_a_producer_continues_its_transaction_after_a_restart(tmp_path: Path, is_v2: bool) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        mine = LiveProducer(client, "mine", is_v2=is_v2)
        await mine.init()
        await mine.write(topic, b"before")
        await client.close()
    async with running_broker(tmp_path, SETTINGS) as live:
        mine.client = client = await live.connect()
        await until(lambda: state_of(live, "mine") is State.ONGOING)
        await mine.write(topic, b"after")
        await mine.write(topic, b"elsewhere", partition=1)
        assert await mine.end(commit=True) is ErrorCode.NONE
        await until(lambda: state_of(live, "mine") is State.COMPLETE_COMMIT)
        for partition, values in enumerate([2, 1]):
            part = await client.fetch(topic, partition=partition, isolation_level=READ_COMMITTED)
            assert part.last_stable_offset == values + 1
            assert part.aborted_transactions == []
        await client.close()


async def test_a_transaction_with_a_deleted_topic_can_still_end(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        kept, doomed = await client.create_topic(), await client.create_topic()
        mine = LiveProducer(client, "mine")
        await mine.init()
        await mine.write(kept, b"x")
        await mine.write(doomed, b"x")
        await client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=doomed.name)], timeout_ms=1000))
        assert await mine.end(commit=True) is ErrorCode.NONE
        await until(lambda: state_of(live, "mine") is State.COMPLETE_COMMIT)
        part = await client.fetch(kept, isolation_level=READ_COMMITTED)
        assert part.last_stable_offset == 2
        await client.close()


async def test_a_cluster_from_before_transactions_keeps_their_first_version(tmp_path: Path) -> None:
    """Its log is written in the first form, so that a broker of the version before could read it."""
    async with running_broker(tmp_path, SETTINGS) as live:
        client = await live.connect()
        topic = await client.create_topic()
        live.services.controller.image.features.finalized.pop("transaction.version")
        mine = LiveProducer(client, "mine", is_v2=False)
        await mine.init()
        await mine.write(topic, b"x")
        assert await mine.end(commit=True) is ErrorCode.NONE
        await until(lambda: state_of(live, "mine") is State.COMPLETE_COMMIT)
        await client.close()
    async with running_broker(tmp_path, SETTINGS) as live:
        await until(lambda: state_of(live, "mine") is State.COMPLETE_COMMIT)
