"""Incremental fetch sessions (KIP-227), as a transcript of requests with the partitions read and returned."""

import random
from collections.abc import Set as AbstractSet

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import (
    EpochEndOffset,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from penstock.protocol.messages.fetch import FetchPartition as WirePartition
from penstock.server.fetch_sessions import FetchPlan, FetchSessions

V12 = 12
V13 = 13


def sessions(slots_max: int = 10) -> FetchSessions:
    return FetchSessions(slots_max, random.Random(7))


def request(
    session_id: int,
    epoch: int,
    *partitions: tuple[str, int, int],
    forget: tuple[tuple[str, int], ...] = (),
    topic_id: bytes = bytes(16),
    leader_epoch: int = -1,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        session_id=session_id,
        session_epoch=epoch,
        topics=[
            FetchTopic(
                topic=topic,
                topic_id=topic_id,
                partitions=[
                    WirePartition(
                        partition=index,
                        current_leader_epoch=leader_epoch,
                        fetch_offset=offset,
                        partition_max_bytes=1000,
                    )
                ],
            )
            for topic, index, offset in partitions
        ],
        forgotten_topics_data=[ForgottenTopic(topic=t, partitions=[i]) for t, i in forget],
    )


def returned_partitions(
    plan: FetchPlan, high_watermark: int = 10, records: AbstractSet[int] = frozenset(), error: int = 0
) -> list[int]:
    """Which partitions the answer carries when all of them read the same."""
    return [
        p.index
        for p in plan.partitions
        if plan.must_include(
            p,
            PartitionData(
                error_code=error,
                high_watermark=high_watermark,
                log_start_offset=0,
                records=b"records" if p.index in records else b"",
            ),
        )
    ]


def test_a_full_fetch_creates_a_session_and_returns_every_partition() -> None:
    plan = sessions().plan(request(0, 0, ("t", 0, 5), ("t", 1, 6)), V12, 0)
    assert plan.session_id > 0
    assert not plan.is_incremental
    assert returned_partitions(plan) == [0, 1]


def test_a_fetch_with_epoch_minus_one_creates_no_session() -> None:
    cache = sessions()
    plan = cache.plan(request(0, -1, ("t", 0, 5)), V12, 0)
    assert plan.session_id == 0
    assert len(cache) == 0
    assert [p.fetch_offset for p in plan.partitions] == [5]


def test_an_incremental_fetch_reads_all_partitions_and_returns_only_changes() -> None:
    cache = sessions()
    first = cache.plan(request(0, 0, ("t", 0, 5), ("t", 1, 6)), V12, 0)
    assert returned_partitions(first) == [0, 1]
    second = cache.plan(request(first.session_id, 1), V12, 1)
    assert [(p.index, p.fetch_offset) for p in second.partitions] == [(0, 5), (1, 6)]
    assert returned_partitions(second) == []
    third = cache.plan(request(first.session_id, 2), V12, 2)
    assert returned_partitions(third, high_watermark=11) == [0, 1]
    fourth = cache.plan(request(first.session_id, 3), V12, 3)
    assert returned_partitions(fourth, high_watermark=11, records={1}) == [1]


def test_an_incremental_fetch_updates_adds_and_removes_partitions() -> None:
    cache = sessions()
    first = cache.plan(request(0, 0, ("t", 0, 5), ("t", 1, 6)), V12, 0)
    second = cache.plan(request(first.session_id, 1, ("t", 0, 50), ("u", 2, 7), forget=(("t", 1),)), V12, 1)
    assert [(p.topic, p.index, p.fetch_offset) for p in second.partitions] == [("t", 0, 50), ("u", 2, 7)]


def test_a_served_partition_goes_to_the_end_of_the_order() -> None:
    cache = sessions()
    first = cache.plan(request(0, 0, ("t", 0, 0), ("t", 1, 0), ("t", 2, 0)), V12, 0)
    returned_partitions(first, records={0})
    second = cache.plan(request(first.session_id, 1), V12, 1)
    assert [p.index for p in second.partitions] == [1, 2, 0]


def test_a_partition_is_returned_again_when_its_error_has_ended() -> None:
    cache = sessions()
    first = cache.plan(request(0, 0, ("t", 0, 0)), V12, 0)
    returned_partitions(first)
    assert returned_partitions(cache.plan(request(first.session_id, 1), V12, 1), error=3) == [0]
    assert returned_partitions(cache.plan(request(first.session_id, 2), V12, 2)) == [0]


def test_an_unknown_session_and_a_wrong_epoch_have_different_errors() -> None:
    cache = sessions()
    assert cache.plan(request(99, 1), V12, 0).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    first = cache.plan(request(0, 0, ("t", 0, 0)), V12, 0)
    assert (
        cache.plan(request(first.session_id, 5), V12, 0).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    )


def test_a_session_with_names_cannot_continue_with_topic_ids() -> None:
    cache = sessions()
    first = cache.plan(request(0, 0, ("t", 0, 0)), V12, 0)
    plan = cache.plan(request(first.session_id, 1), V13, 0)
    assert plan.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_closing_a_session_frees_its_slot() -> None:
    cache = sessions()
    first = cache.plan(request(0, 0, ("t", 0, 0)), V12, 0)
    cache.plan(request(first.session_id, -1, ("t", 0, 0)), V12, 0)
    assert len(cache) == 0


def test_a_full_cache_creates_no_session_until_the_oldest_is_idle_long_enough() -> None:
    cache = sessions(slots_max=1)
    cache.plan(request(0, 0, ("t", 0, 0)), V12, 0)
    assert cache.plan(request(0, 0, ("t", 0, 0)), V12, 1000).session_id == 0
    assert cache.plan(request(0, 0, ("t", 0, 0)), V12, 200_000).session_id > 0
    assert len(cache) == 1


def test_a_follower_that_truncated_its_log_gets_the_high_watermark_again() -> None:
    """Seed 149 of the simulated clusters: it could not apply it, and did not get it again before the next record."""
    many = sessions()
    session_id = many.plan(request(0, 0, ("t", 0, 9)), V12, 0).session_id
    plan = many.plan(request(session_id, 1), V12, 0)
    diverging = PartitionData(high_watermark=5, log_start_offset=0, diverging_epoch=EpochEndOffset(epoch=1))
    assert plan.must_include(plan.partitions[0], diverging)
    agreeing = msgspec.structs.replace(diverging, diverging_epoch=EpochEndOffset())
    plan = many.plan(request(session_id, 2, ("t", 0, 5)), V12, 0)
    assert plan.must_include(plan.partitions[0], agreeing)
    plan = many.plan(request(session_id, 3), V12, 0)
    assert not plan.must_include(plan.partitions[0], agreeing)


def test_a_follower_of_a_new_leader_epoch_gets_the_high_watermark_again() -> None:
    """It drops an answer that was under way when the epoch began."""
    many = sessions()
    plan = many.plan(request(0, 0, ("t", 0, 5), leader_epoch=3), V12, 0)
    assert returned_partitions(plan) == [0]
    plan = many.plan(request(plan.session_id, 1, ("t", 0, 5), leader_epoch=3), V12, 0)
    assert returned_partitions(plan) == []
    plan = many.plan(request(plan.session_id, 2, ("t", 0, 5), leader_epoch=4), V12, 0)
    assert returned_partitions(plan) == [0]
