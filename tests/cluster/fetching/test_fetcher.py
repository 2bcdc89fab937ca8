"""The fetcher of a follower: its requests to the leader, and how it applies the responses."""

import asyncio
import logging
from pathlib import Path

import pytest

from penstock.cluster.metadata.state import Partition
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.cluster.replica import Replica
from penstock.config.topic import TopicConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import (
    EpochEndOffset,
    FetchResponse,
)
from penstock.storage.files import Usage
from tests.cluster.fetching.stage import BACKOFF_MS, Stage, records, run, wanted
from tests.cluster.stage import TOPIC_ID
from tests.storage.logs import read, values_in


def test_the_next_fetch_is_sent_only_when_the_records_of_the_last_are_on_disk(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 0, -1)]
        stage.leader.answer(records=records(0, "a", "b"), high_watermark=1)
        assert wanted(await stage.asked(2)) == [(0, 2, 3)]
        assert stage.replica.log.committed_offset == 2, "the fetch offset is a promise"
        assert stage.replica.high_watermark == 1
        stage.leader.answer(records=b"", high_watermark=9)
        request = await stage.asked(3)
        assert stage.replica.high_watermark == 2, "no further than the records that are here"
        assert (request.session_id, request.session_epoch, wanted(request)) == (9, 2, [])

    run(tmp_path, scenario)


def test_a_diverged_log_is_truncated_to_the_end_of_the_common_epoch(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", epoch=1), records(1, "b", "c", epoch=2))
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 3, 2)]
        stage.leader.answer(diverging_epoch=EpochEndOffset(epoch=1, end_offset=5))
        assert wanted(await stage.asked(2)) == [(0, 1, 1)]
        stage.leader.answer(records=records(1, "d"), high_watermark=2)
        assert wanted(await stage.asked(3)) == [(0, 2, 3)]

    run(tmp_path, scenario)


def test_a_truncation_is_logged_only_if_it_removes_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", epoch=1), records(1, "b", "c", epoch=2))
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(diverging_epoch=EpochEndOffset(epoch=2, end_offset=5))
        assert wanted(await stage.asked(2)) == []  # as before
        assert "Truncated" not in caplog.text
        stage.leader.answer(diverging_epoch=EpochEndOffset(epoch=2, end_offset=1))
        assert wanted(await stage.asked(3)) == [(0, 1, 1)]
        assert "Truncated t-0: diverged from its leader. from_offset=3 to_offset=1" in caplog.text

    with caplog.at_level(logging.INFO):
        run(tmp_path, scenario)


def test_a_new_follower_that_starts_at_the_start_of_its_leader_truncates_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.leader.start_offset = 40
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 40, -1)]

    with caplog.at_level(logging.INFO):
        run(tmp_path, scenario)
    assert "Truncated" not in caplog.text


def test_a_follower_below_its_leaders_start_restarts_there(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a"))
        stage.leader.start_offset = 40
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 40, -1)]
        assert stage.replica.log.log_start_offset == 40

    run(tmp_path, scenario)


def test_records_below_the_leaders_log_start_are_dropped_with_their_producer_state(
    tmp_path: Path,
) -> None:
    """The leader may have had another record there, such as the end of a transaction that is open here."""

    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", epoch=1), records(1, "never committed", epoch=2))
        stage.replica.log.producers.mark_unverified(0)  # represents any producer state of the records
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 2, 2)]
        stage.leader.answer(records=records(2, "c"), high_watermark=3, log_start_offset=2)
        assert wanted(await stage.asked(2)) == [(0, 3, 3)]
        log = stage.replica.log
        assert (log.log_start_offset, log.log_end_offset) == (2, 3)
        assert log.first_unstable_offset is None

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("epoch", "high_watermark"), [(3, 1), (2, 2)], ids=["of the same leader", "known to be committed"]
)
def test_records_deleted_at_the_leader_are_kept_if_they_cannot_differ_from_it(
    tmp_path: Path, epoch: int, high_watermark: int
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", "b", epoch=epoch))
        await stage.processed()
        stage.following(stage.replica).follow_offsets(high_watermark, 0)
        assert stage.replica.high_watermark == high_watermark
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        generation = stage.replica.log.generation
        stage.leader.answer(records=b"", high_watermark=2, log_start_offset=2)
        await stage.asked(2)
        assert stage.replica.log.generation == generation, "nothing was truncated"

    run(tmp_path, scenario)


def test_a_follower_catches_up_with_a_leader_whose_log_starts_inside_a_batch(tmp_path: Path) -> None:
    """DeleteRecords moves the start to any record; the leader still sends the whole batch that holds it."""

    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a"))
        stage.leader.start_offset = 12
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 12, -1)]
        fetched = records(10, "k", "l", "m", epoch=2) + records(13, "n")
        stage.leader.answer(records=fetched, high_watermark=14, log_start_offset=12)
        assert wanted(await stage.asked(3)) == [(0, 14, 3)]
        assert (stage.replica.log.log_start_offset, stage.replica.high_watermark) == (12, 14)
        assert values_in(read(stage.replica.log, 12)) == ["k", "l", "m", "n"]

    run(tmp_path, scenario)


def test_a_log_does_not_move_to_a_batch_start_in_an_epoch_that_it_leads(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.log.truncate_fully_and_start_at(12)
        await stage.store.checkpoint()
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.disk.hold()
        stage.leader.answer(records=records(10, "k", "l", "m"), high_watermark=13, log_start_offset=12)
        while stage.replica.log.recovery_point != 10:  # which is being saved
            await asyncio.sleep(0)
        stage.take_over(stage.replica, epoch=4)
        stage.disk.free()
        await stage.processed()
        assert (stage.replica.log.log_start_offset, stage.replica.log.log_end_offset) == (12, 12)

    run(tmp_path, scenario)


def test_an_empty_log_ahead_of_its_leader_moves_back_to_the_leaders_start(tmp_path: Path) -> None:
    """After an unclean election: an empty log has no epoch for the leader to compare."""

    async def scenario(stage: Stage) -> None:
        stage.replica.log.truncate_fully_and_start_at(100)
        stage.leader.start_offset = 10
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 100, -1)]
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 10, -1)]

    run(tmp_path, scenario)


def test_a_follower_adopts_the_leaders_log_start(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(records=records(0, "a", "b", "c"), high_watermark=3, log_start_offset=2)
        await stage.asked(2)
        assert stage.replica.log.log_start_offset == 2

    run(tmp_path, scenario)


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR])
def test_a_failing_partition_backs_off_while_the_others_continue(tmp_path: Path, error: ErrorCode) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(stage.make(1))
        assert wanted(await stage.asked(1)) == [(0, 0, -1), (1, 0, -1)]
        stage.leader.answer(0, error_code=error)
        resting = await stage.asked(2)
        assert [topic.partitions for topic in resting.forgotten_topics_data] == [[0]]
        stage.clock.advance(BACKOFF_MS)
        stage.leader.answer(1, records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(3)) == [(0, 0, -1), (1, 1, 3)]

    run(tmp_path, scenario)


def test_damaged_records_are_not_stored_and_are_fetched_again(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        damaged = bytearray(records(0, "a"))
        damaged[-1] ^= 1
        stage.leader.answer(records=bytes(damaged), high_watermark=1)
        for _ in range(50):
            await asyncio.sleep(0)
        assert (stage.replica.log.log_end_offset, len(stage.leader.requests)) == (0, 1)
        stage.clock.advance(BACKOFF_MS)
        assert wanted(await stage.asked(2)) == [], "the session has the fetch offset"
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(3)) == [(0, 1, 3)]

    run(tmp_path, scenario)


def test_a_new_partition_ends_a_long_poll(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.fetcher.follow(stage.make(1))
        assert wanted(await stage.asked(2)) == [(0, 0, -1), (1, 0, -1)]
        assert (stage.leader.connections, stage.leader.closed) == (2, 1)

    run(tmp_path, scenario)


def test_a_partition_already_followed_in_its_epoch_does_not_end_a_long_poll(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.fetcher.follow(stage.replica)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        await stage.asked(2)
        assert stage.leader.connections == 1

    run(tmp_path, scenario)


def test_an_answer_of_an_earlier_epoch_is_dropped(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.lead(stage.replica, 4)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        await stage.processed()
        assert stage.replica.log.log_end_offset == 0
        stage.fetcher.follow(stage.replica)
        (topic,) = (await stage.asked(2)).topics
        assert topic.partitions[0].current_leader_epoch == 4

    run(tmp_path, scenario)


def test_an_unreachable_leader_is_retried_after_a_backoff(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answers.put_nowait(ConnectionResetError())
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(stage.leader.requests) == 1
        stage.clock.advance(BACKOFF_MS)
        request = await stage.asked(2)
        assert (request.session_id, wanted(request)) == (0, [(0, 0, -1)])

    run(tmp_path, scenario)


def test_a_session_that_the_leader_forgot_is_restarted_at_once(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(records=b"")
        await stage.asked(2)
        stage.leader.answers.put_nowait(FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
        request = await stage.asked(3)
        assert (request.session_id, request.session_epoch, wanted(request)) == (0, 0, [(0, 0, -1)])

    run(tmp_path, scenario)


def test_a_leader_that_refuses_a_whole_fetch_is_retried_after_a_backoff(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answers.put_nowait(FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(stage.leader.requests) == 1
        stage.clock.advance(BACKOFF_MS)
        await stage.asked(2)

    run(tmp_path, scenario)


def test_a_partition_that_is_no_longer_followed_is_not_fetched(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(stage.make(1))
        await stage.asked(1)
        stage.fetcher.leave(TOPIC_ID, 0)
        assert len(stage.fetcher) == 1
        stage.leader.answer(0, records=records(0, "a"), high_watermark=1)
        request = await stage.asked(2)
        assert [topic.partitions for topic in request.forgotten_topics_data] == [[0]]
        assert stage.replica.log.log_end_offset == 0

    run(tmp_path, scenario)


def test_a_throttled_partition_over_its_rate_is_not_fetched_and_others_are(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.bytes_per_second_max = 10
        other = stage.make(1)
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(other)
        assert wanted(await stage.asked(1)) == [(0, 0, -1), (1, 0, -1)]
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        request = await stage.asked(2)
        assert (wanted(request), request.forgotten_topics_data[0].partitions) == ([], [0])
        stage.clock.advance(60_000)
        stage.leader.answer(1, records=records(0, "b"), high_watermark=1)
        assert wanted(await stage.asked(3)) == [(0, 1, 3), (1, 1, 3)]

    run(tmp_path, scenario)


def test_an_in_sync_partition_is_fetched_at_any_rate(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.bytes_per_second_max = 10
        stage.replica.follow(
            Partition(replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=4, partition_epoch=4)
        )
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(2)) == [(0, 1, 3)]

    run(tmp_path, scenario)


def test_a_partition_is_not_fetched_while_its_disk_is_full(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        disk = stage.deps.disk
        disk.measured(Usage(1000, 100), 100, 0)
        quiet = stage.make(1)
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(quiet)
        assert wanted(await stage.asked(1)) == [(0, 0, -1), (1, 0, -1)]
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        request = await stage.asked(2)
        assert [topic.partitions for topic in request.forgotten_topics_data] == [[0]], (
            "the other one stays in sync"
        )
        assert stage.replica.log.log_end_offset == 0
        for number in (3, 4):
            stage.clock.advance(BACKOFF_MS)
            stage.leader.answer(1, records=b"", high_watermark=0)
            assert wanted(await stage.asked(number)) == []
        disk.measured(Usage(1000, 1000), 100, 0)
        stage.clock.advance(BACKOFF_MS)
        stage.leader.answer(1, records=b"", high_watermark=0)
        assert wanted(await stage.asked(5)) == [(0, 0, -1)]
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(6)) == [(0, 1, 3)]

    run(tmp_path, scenario)


def test_the_logs_of_coordinators_may_use_the_disk_reserve(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.deps.disk.measured(Usage(1000, 10), 100, 0)
        replica = Replica(
            CONSUMER_OFFSETS,
            TOPIC_ID,
            0,
            lambda: stage.store.open_or_create(CONSUMER_OFFSETS, TOPIC_ID, 0, TopicConfig()),
            stage.deps,
        )
        stage.lead(replica, 3)
        stage.fetcher.follow(replica)
        await stage.asked(1)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(2)) == [(0, 1, 3)]

    run(tmp_path, scenario)
