"""A leader's answer is applied in the leader epoch of the request or not at all, however long the disk takes."""

import asyncio
from pathlib import Path

import pytest

from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotFollower
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from penstock.storage.damage.damage import Damage, Loss
from tests.cluster.fetching.stage import Stage, records, run, wanted
from tests.cluster.stage import TOPIC_ID
from tests.storage.logs import all_values, batch_of


async def holds_checkpointed(stage: Stage, replica: Replica) -> None:
    """Three records of two epochs, all below the recovery point: a truncation must lower it on the disk first."""
    for each in (records(0, "a", epoch=1), records(1, "b", "c", epoch=2)):
        stage.following(replica).append(each, stage.clock.now_ms())
    await stage.store.checkpoint()
    assert replica.log.recovery_point == 3


async def until_the_disk_is_awaited(stage: Stage) -> None:
    while not stage.disk.waiting_count:
        await asyncio.sleep(0)


async def lead_and_append(stage: Stage, replica: Replica, epoch: int, value: str) -> None:
    """As the new leader, alone in sync: its appends are committed."""
    stage.take_over(replica, epoch)
    replica.append(batch_of(value), stage.clock.now_ms(), leader_epoch=epoch)
    while replica.high_watermark < replica.log.log_end_offset:
        await asyncio.sleep(0)


def test_a_truncation_that_waits_for_the_disk_is_not_applied_once_the_replica_leads(
    tmp_path: Path,
) -> None:
    async def scenario(stage: Stage) -> None:
        await holds_checkpointed(stage, stage.replica)
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.disk.hold()
        stage.leader.answer(diverging_epoch=EpochEndOffset(epoch=1, end_offset=1))
        await until_the_disk_is_awaited(stage)
        await lead_and_append(stage, stage.replica, 4, "d")
        stage.disk.free()
        await stage.processed()
        assert all_values(stage.replica.log) == ["a", "b", "c", "d"]
        assert stage.replica.high_watermark == 4

    run(tmp_path, scenario)


def test_a_truncation_is_not_applied_in_a_later_epoch_than_its_request(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        other = stage.make(1)
        await holds_checkpointed(stage, stage.replica)
        await holds_checkpointed(stage, other)
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(other)
        await stage.asked(1)
        stage.disk.hold()
        diverging = EpochEndOffset(epoch=1, end_offset=1)
        parts = [PartitionData(partition_index=number, diverging_epoch=diverging) for number in (0, 1)]
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=parts)
        stage.leader.answers.put_nowait(FetchResponse(session_id=9, responses=[topic]))
        await until_the_disk_is_awaited(stage)  # for the first of the two
        await lead_and_append(stage, other, 4, "d")
        stage.lead(other, 5)
        stage.fetcher.follow(other)
        stage.disk.free()
        await stage.processed()
        assert all_values(stage.replica.log) == ["a"]
        assert all_values(other.log) == ["a", "b", "c", "d"]

    run(tmp_path, scenario)


def test_a_replica_that_leads_by_the_time_of_the_answer_does_not_restart_at_the_leaders_start(
    tmp_path: Path,
) -> None:
    async def scenario(stage: Stage) -> None:
        asked, may_answer = asyncio.Event(), asyncio.Event()

        stage.leader.start_offset = 40
        stage.leader.on_start_asked = asked.set
        stage.leader.may_answer_start = may_answer
        stage.holds(records(0, "a"))
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        await asked.wait()
        await lead_and_append(stage, stage.replica, 4, "b")
        may_answer.set()
        await stage.processed()
        assert all_values(stage.replica.log) == ["a", "b"]

    run(tmp_path, scenario)


def test_records_of_an_earlier_leader_are_not_stored_after_those_of_the_next(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        other = stage.make(1)
        await holds_checkpointed(stage, stage.replica)
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(other)
        await stage.asked(1)
        stage.disk.hold()
        parts = [
            PartitionData(partition_index=0, diverging_epoch=EpochEndOffset(epoch=1, end_offset=1)),
            PartitionData(partition_index=1, records=records(0, "of epoch 3"), high_watermark=1),
        ]
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=parts)
        stage.leader.answers.put_nowait(FetchResponse(session_id=9, responses=[topic]))
        await until_the_disk_is_awaited(stage)
        stage.lead(other, 5)
        stage.fetcher.follow(other)
        stage.disk.free()
        await stage.processed()
        assert (all_values(other.log), other.high_watermark) == ([], 0)

    run(tmp_path, scenario)


def test_the_next_leader_is_asked_only_for_records_beyond_the_durable_ones(tmp_path: Path) -> None:
    """A leader commits by the fetch offset of a follower: it must be durable for records of the leader before, too."""

    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.syncs.hold()
        stage.leader.answer(records=records(0, "a", "b"), high_watermark=0)
        await stage.processed()
        stage.lead(stage.replica, 5)
        stage.fetcher.follow(stage.replica)
        await stage.processed()
        assert (stage.replica.log.log_end_offset, stage.replica.log.committed_offset) == (2, 0)
        assert len(stage.leader.requests) == 1
        stage.syncs.free()
        assert wanted(await stage.asked(2)) == [(0, 2, 3)]
        assert stage.replica.log.committed_offset == 2

    run(tmp_path, scenario)


def test_waiters_of_truncated_records_fail(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        followed = stage.following(stage.replica)
        stage.syncs.hold()
        waiting = followed.append(records(0, "a", "b"), stage.clock.now_ms())
        await followed.truncate(1)
        with pytest.raises(NotFollower, match="was truncated"):
            await waiting

    run(tmp_path, scenario)


def test_a_log_repaired_while_its_truncation_waits_is_not_truncated(
    tmp_path: Path,
) -> None:
    async def scenario(stage: Stage) -> None:
        replica = stage.replica
        await holds_checkpointed(stage, replica)
        damage = Damage(segment=0, position=0, size_bytes=0, base_offset=1, next_offset=3)
        replica.log.losses = (Loss(path="0.log", what="is missing", damage=damage),)
        replica.log.damaged.set_found(0, [damage])
        stage.disk.hold()
        rebuilding = asyncio.ensure_future(stage.following(replica).rebuild())
        await until_the_disk_is_awaited(stage)
        replica.log.damaged.remove(damage)
        stage.disk.free()
        await rebuilding
        assert all_values(replica.log) == ["a", "b", "c"]

    run(tmp_path, scenario)
