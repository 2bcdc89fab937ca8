"""A led replica: appends, their commits, and new settings of the topic."""

import asyncio
import errno
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, cast

import pytest

from penstock.cluster.append_queue import QUEUED_BYTES_MAX, QUEUED_MAX
from penstock.cluster.commit import Commit
from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.cluster.replica_deps import ReplicaDeps
from penstock.cluster.replica_errors import NotEnoughReplicasAfterAppend, NotLeader, PartitionGone
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock, SystemClock
from penstock.runtime.offload import InlineOffload, Then
from penstock.storage.errors import LogError, NoSpace
from penstock.storage.file_cache import FileCache
from penstock.storage.files import Usage
from penstock.storage.flusher import Flusher
from penstock.storage.log.append import EVENT_LOOP_BYTES_MAX
from penstock.storage.log.log import Log
from penstock.storage.log.values import Origin
from penstock.storage.recovery.loader import create_log
from penstock.storage.store.log_store import LogStore
from penstock_simulation.disk import FaultyDisk, Operation
from tests.storage.logs import NOW_MS, all_values, batch_of, config_of

if TYPE_CHECKING:
    from penstock.protocol.records.batch import BatchHeader


class HeldWork(InlineOffload):
    """Runs work when the test releases it."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], object], Then]] = []

    def call(self, work: Callable[[], object], then: Then) -> None:
        self.held.append((work, then))

    def release(self) -> None:
        held, self.held = self.held, []
        for work, then in held:
            try:
                result = work()
            except LogError as error:
                then(None, error)
            else:
                then(result, None)


class Stage:
    """A led partition on a disk whose syncs end when the test releases them."""

    def __init__(self, *, has_journal: bool = False) -> None:
        self.disk = FaultyDisk(Random(1))
        self.syncs = HeldWork()
        self.checks = HeldWork()
        self.store = self._open_store() if has_journal else None
        flusher = Flusher(self.syncs, SystemClock(), journal=self.store.journal if self.store else None)
        deps = ReplicaDeps(1, SystemClock(), flusher, checks=self.checks)
        self.space = deps.disk
        self.replica = Replica("t", bytes(16), 0, self._open, deps)
        self.replica.follow(state())

    def _open_store(self) -> LogStore:
        return LogStore.open(
            "/data",
            files=self.disk,
            node_id=1,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: bytes(16),
            clock=SystemClock(),
            offload=self.syncs,
            journal_bytes=1 << 20,
        )

    def _open(self) -> Log:
        config = config_of(max_message_bytes=2 * EVENT_LOOP_BYTES_MAX)
        if self.store is not None:
            return self.store.open_or_create("t", bytes(16), 0, config)
        self.disk.make_dirs("/t-0")
        cache = FileCache(self.disk)
        return Log("t", 0, "/t-0", config, loaded=create_log(cache, "/t-0", config))

    def append(self, value: str, *, codec: Codec = Codec.NONE, **how: Any) -> Commit:
        epoch = how.pop("leader_epoch", self.replica.leader_epoch)
        return self.replica.append(batch_of(value, codec=codec), NOW_MS, leader_epoch=epoch, **how)

    def values(self) -> list[str]:
        return all_values(self.replica.log)


def state(**changes: Any) -> Partition:
    fields: dict[str, Any] = {
        "replicas": (1,),
        "isr": (1,),
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
    }
    return Partition(**(fields | changes))


def on_stage(scenario: Callable[[Stage], Any], *, has_journal: bool = False) -> None:
    async def run() -> None:
        await scenario(Stage(has_journal=has_journal))

    asyncio.run(run())


def code_of(commit: Commit) -> ErrorCode:
    assert commit.is_done
    if commit.error is None:
        return ErrorCode.NONE
    assert isinstance(commit.error, LogError)
    return commit.error.code


def test_an_append_is_written_at_once_unless_a_sync_runs() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        assert stage.values() == ["a"], "a lone producer does not wait for the end of the turn"
        stage.append("b")
        assert stage.values() == ["a"]
        stage.syncs.release()
        stage.syncs.release()
        await asyncio.sleep(0)
        assert stage.values() == ["a", "b"]

    on_stage(scenario)


def test_an_append_waits_for_the_end_of_the_turn_while_the_journal_has_records_of_its_log() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        stage.syncs.release()  # the first sync of a log is one of its segments
        stage.append("b")
        assert (stage.replica.log.is_journaling, stage.replica.log.syncing) == (True, None)
        commits = [stage.append("c"), stage.append("d")]
        assert stage.values() == ["a", "b"]
        await asyncio.sleep(0)
        assert stage.values() == ["a", "b", "c", "d"]
        stage.syncs.release()
        assert not any(each.is_done for each in commits), "that round was begun before them"
        stage.syncs.release()
        assert [code_of(each) for each in commits] == [ErrorCode.NONE] * 2

    on_stage(scenario, has_journal=True)


def test_queued_appends_count_as_used_space_before_they_are_written() -> None:
    async def scenario(stage: Stage) -> None:
        stage.space.measured(Usage(1_000_000, 100_000 + 3 * len(batch_of("a"))), 100_000, 0)
        stage.append("a")
        queued = [stage.append("b"), stage.append("c")]
        refused = stage.append("d")
        assert isinstance(refused.error, NoSpace)
        assert "cannot write to t-0: the disk of the broker is full" in str(refused.error)
        await asyncio.sleep(0)
        stage.syncs.release()
        stage.syncs.release()
        assert ([code_of(each) for each in queued], stage.values()) == ([ErrorCode.NONE] * 2, ["a", "b", "c"])

    on_stage(scenario)


def test_queued_appends_are_written_at_the_end_of_the_turn_and_complete_when_they_are_on_the_disk() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        commits = [stage.append(value) for value in "bcd"]
        assert stage.values() == ["a"]
        await asyncio.sleep(0)
        assert stage.values() == ["a", "b", "c", "d"]
        stage.syncs.release()
        assert not any(each.is_done for each in commits), "that sync was begun before them"
        stage.syncs.release()
        assert [code_of(each) for each in commits] == [ErrorCode.NONE] * 3
        assert [each.appended and each.appended.base_offset for each in commits] == [1, 2, 3]
        assert stage.replica.bytes_in == 4 * len(batch_of("a"))

    on_stage(scenario)


def test_appends_of_a_coordinator_are_queued_with_those_of_clients_and_keep_their_order() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        stage.append("b")
        stage.append("c", origin=Origin.COORDINATOR)
        stage.append("d")
        await asyncio.sleep(0)
        assert stage.values() == ["a", "b", "c", "d"]

    on_stage(scenario)


def test_appends_to_a_replicated_partition_are_queued_too() -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.follow(state(replicas=(1, 2), isr=(1, 2), leader_epoch=1))
        stage.append("a")
        commits = [stage.append("b"), stage.append("c", acks=1), stage.append("d", acks=0)]
        assert stage.values() == ["a"]
        await asyncio.sleep(0)
        assert stage.values() == ["a", "b", "c", "d"]
        assert [each.is_done for each in commits] == [False, False, True]
        stage.syncs.release()
        stage.syncs.release()
        assert [each.is_done for each in commits] == [False, True, True]
        stage.replica.follower_fetched(2, 1, 2)
        assert [code_of(each) for each in commits] == [ErrorCode.NONE] * 3

    on_stage(scenario)


def test_many_appends_or_a_large_one_do_not_wait_for_the_end_of_the_turn() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        for number in range(QUEUED_MAX + 1):
            stage.append(str(number))
        assert len(stage.values()) == 1 + QUEUED_MAX
        await asyncio.sleep(0)
        assert len(stage.values()) == 2 + QUEUED_MAX
        stage.append("x" * QUEUED_BYTES_MAX)
        assert len(stage.values()) == 3 + QUEUED_MAX

    on_stage(scenario)


def test_a_full_disk_fails_each_queued_append() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        stage.disk.fail("write", error=errno.ENOSPC)
        commits = [stage.append(value) for value in "bc"]
        await asyncio.sleep(0)
        assert [code_of(each) for each in commits] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
        assert stage.values() == ["a"]

    on_stage(scenario)


def test_a_failed_sync_fails_each_queued_append() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        commits = [stage.append(value) for value in "bc"]
        await asyncio.sleep(0)
        stage.disk.fail("sync")
        stage.syncs.release()
        assert [code_of(each) for each in commits] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2

    on_stage(scenario)


def test_a_queued_append_fails_when_another_broker_takes_over() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        commit = stage.append("b")
        stage.replica.follow(state(leader=2, leader_epoch=1, replicas=(1, 2), isr=(1, 2)))
        assert code_of(commit) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    on_stage(scenario)


def test_an_append_of_another_leader_epoch_is_refused() -> None:
    async def scenario(stage: Stage) -> None:
        refused = stage.append("a", leader_epoch=7)
        assert isinstance(refused.error, NotLeader)
        with pytest.raises(NotLeader, match="does not lead t-0 in leader epoch 7"):
            refused.raise_if_refused()
        assert stage.values() == []

    on_stage(scenario)


def test_a_queued_append_waits_for_a_replica_that_is_added() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        commit = stage.append("b")
        stage.replica.follow(state(replicas=(1, 2), isr=(1, 2), leader_epoch=1))
        stage.syncs.release()
        stage.syncs.release()
        assert not commit.is_done
        stage.replica.follower_fetched(2, 1, 2)
        assert code_of(commit) == ErrorCode.NONE

    on_stage(scenario)


def test_an_append_is_committed_before_others_written_with_it() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        commits = [stage.append(value) for value in "bc"]
        stage.replica.follow(state(replicas=(1, 2), isr=(1, 2), leader_epoch=1))
        stage.syncs.release()
        stage.syncs.release()
        stage.replica.follower_fetched(2, 1, 2)  # it has "b", and not yet "c"
        assert [each.is_done for each in commits] == [True, False]
        stage.replica.follow(state(leader=2, leader_epoch=2, replicas=(1, 2), isr=(1, 2)))
        assert [code_of(each) for each in commits] == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]

    on_stage(scenario)


def test_a_queued_append_fails_when_the_partition_is_deleted() -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        commit = stage.append("b")
        stage.replica.close(PartitionGone("t-0 is deleted"))
        await asyncio.sleep(0)
        assert code_of(commit) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    on_stage(scenario)


def test_a_retry_of_a_committed_batch_completes_at_once_and_one_of_an_uncommitted_batch_waits() -> None:
    async def scenario(stage: Stage) -> None:
        def send(sequence: int) -> Commit:
            records = batch_of("v", producer_id=7, producer_epoch=0, base_sequence=sequence)
            return stage.replica.append(records, NOW_MS, leader_epoch=0)

        send(0)
        stage.syncs.release()
        assert send(0).is_done
        new, retry = send(1), send(1)
        await asyncio.sleep(0)
        assert not retry.is_done
        stage.syncs.release()
        stage.syncs.release()
        assert (new.last_offset, retry.last_offset, code_of(retry)) == (1, 1, ErrorCode.NONE)

    on_stage(scenario)


def test_a_batch_that_is_slow_to_check_gets_its_offset_when_it_is_checked() -> None:
    async def scenario(stage: Stage) -> None:
        large = stage.append("x" * (EVENT_LOOP_BYTES_MAX + 1), codec=Codec.GZIP)
        assert large.checking is not None
        stage.append("b")
        assert (large.is_done, stage.values()) == (False, ["b"])
        stage.checks.release()
        assert large.checking.is_done
        await asyncio.sleep(0)
        assert len(stage.values()) == 2
        stage.syncs.release()
        stage.syncs.release()
        assert (code_of(large), large.last_offset) == (ErrorCode.NONE, 1)

    on_stage(scenario)


def test_a_batch_is_refused_if_its_leader_epoch_has_ended_when_it_is_checked() -> None:
    async def scenario(stage: Stage) -> None:
        large = stage.append("x" * (EVENT_LOOP_BYTES_MAX + 1), codec=Codec.GZIP)
        stage.replica.follow(state(leader_epoch=1))
        stage.checks.release()
        assert (code_of(large), stage.values()) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, [])

    on_stage(scenario)


def test_a_batch_is_checked_again_if_the_settings_of_its_topic_changed_during_the_check() -> None:
    async def scenario(stage: Stage) -> None:
        large = stage.append("x" * (EVENT_LOOP_BYTES_MAX + 1), codec=Codec.GZIP)
        stage.replica.configure(config_of(max_message_bytes=100))
        stage.checks.release()
        assert not large.is_done
        stage.checks.release()
        assert code_of(large) == ErrorCode.MESSAGE_TOO_LARGE

    on_stage(scenario)


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_callback_gets_each_failure_in_order(operation: Operation) -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        stage.disk.fail(operation, error=errno.ENOSPC)
        seen: list[object] = []
        commits = [stage.append(value) for value in "bc"]
        for commit in commits:
            commit.then(seen.append)
        await asyncio.sleep(0)
        stage.syncs.release()
        assert seen == commits

    on_stage(scenario)


def test_an_unexpected_error_fails_the_commit(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(stage: Stage) -> None:
        stage.append("a")
        commit = stage.append("b")
        commit.batches[0].header = cast("BatchHeader", None)  # a bug
        await asyncio.sleep(0)
        assert code_of(commit) == ErrorCode.KAFKA_STORAGE_ERROR
        assert "Append to t-0 failed" in caplog.text

    on_stage(scenario)


# -- new settings of the topic --------------------------------------------------------------------------

ALONE = Partition(replicas=(1, 2), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)


def led(state: Partition, **settings: Any) -> Replica:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/t-0")
    cache, config = FileCache(disk), config_of(**settings)

    def open_log() -> Log:
        return Log("t", 0, "/t-0", config, loaded=create_log(cache, "/t-0", config))

    clock = ManualClock()
    replica = Replica("t", bytes(16), 0, open_log, ReplicaDeps(1, clock, Flusher(InlineOffload(), clock)))
    replica.follow(state)
    return replica


def test_waiting_records_are_committed_when_fewer_replicas_are_required() -> None:
    async def scenario() -> None:
        replica = led(ALONE, min_insync_replicas=2, flush_messages=1000)
        replica.append(batch_of("a"), NOW_MS, leader_epoch=0, acks=1)
        assert replica.high_watermark == 0
        replica.configure(config_of(min_insync_replicas=1, flush_messages=1000))
        assert replica.high_watermark == 1

    asyncio.run(scenario())


def test_a_waiting_append_fails_when_more_replicas_are_required_than_are_in_sync() -> None:
    async def scenario() -> None:
        replica = led(ALONE, min_insync_replicas=1)
        waiting = replica.append(batch_of("a"), NOW_MS, leader_epoch=0)
        replica.configure(config_of(min_insync_replicas=2))
        with pytest.raises(NotEnoughReplicasAfterAppend):
            await waiting

    asyncio.run(scenario())


def test_records_acknowledged_without_a_sync_are_synced_when_the_topic_requires_syncs() -> None:
    async def scenario() -> None:
        replica = led(ALONE, flush_messages=1000)
        replica.append(batch_of("a"), NOW_MS, leader_epoch=0)
        assert (replica.high_watermark, replica.log.durable_offset) == (1, 0)
        replica.configure(config_of(flush_messages=1))
        await replica.synced()
        assert replica.log.durable_offset == 1

    asyncio.run(scenario())
