"""A partition that this broker leads and copies, on a real log."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock.cluster.fetching.position import Append
from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica_errors import NotLeader, ReadOnlyPartition
from penstock.mirror.mirrored_partition import MirroredPartition, SourceDiverged
from penstock.storage.errors import AppendRejected
from tests.cluster.fetching.stage import records
from tests.cluster.stage import ReplicaStage
from tests.storage.logs import NOW_MS, all_values, batch_of

EPOCH = 64


class MirrorStage(ReplicaStage):
    """Broker 2 leads in an epoch above those of the source."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.replica = self.replica_of(0)
        self.replica.set_mirrored(is_read_only=True, promoted_epoch=-1)
        self.lead(EPOCH)
        self.mirrored = self.tracked()

    def lead(self, epoch: int) -> None:
        self.replica.follow(
            Partition(replicas=(2,), isr=(2,), leader=2, leader_epoch=epoch, partition_epoch=epoch)
        )

    def tracked(self, *, may_truncate: bool = False) -> MirroredPartition:
        return MirroredPartition(self.replica, self.store, may_truncate=may_truncate)

    async def copy(self, batch: bytes, *, high_watermark: int = 100, start: int = 0) -> None:
        await self.mirrored.append(batch, self.clock.now_ms())
        self.mirrored.follow_offsets(high_watermark, start)


def run(directory: Path, scenario: Callable[[MirrorStage], Awaitable[None]]) -> None:
    async def played() -> None:
        stage = MirrorStage(directory)
        try:
            await scenario(stage)
        finally:
            await stage.store.close()

    asyncio.run(played())


def test_records_keep_their_offsets_and_the_epochs_of_the_source(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        await stage.copy(records(0, "a", "b", epoch=3))
        await stage.copy(records(7, "c", epoch=5))
        log = stage.replica.log
        assert all_values(log) == ["a", "b", "c"]
        assert log.epochs.entries == [(3, 0), (5, 7)], "none of this cluster's"
        assert stage.replica.high_watermark == 8
        assert stage.mirrored.lag == 92

    run(tmp_path, scenario)


def test_only_the_mirror_writes(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        commit = stage.replica.append(batch_of("x"), 0, leader_epoch=EPOCH)
        assert isinstance(commit.error, ReadOnlyPartition)
        assert stage.replica.log.log_end_offset == 0

    run(tmp_path, scenario)


def test_nothing_is_copied_in_another_leader_epoch_or_after_the_promotion(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        stage.lead(EPOCH + 1)
        with pytest.raises(NotLeader):
            await stage.copy(records(0, "a"))
        stage.mirrored = stage.tracked()
        await stage.copy(records(0, "a"))
        stage.replica.set_mirrored(is_read_only=False, promoted_epoch=EPOCH + 2)
        with pytest.raises(NotLeader):
            await stage.copy(records(1, "b"))

    run(tmp_path, scenario)


def test_a_promoted_partition_begins_its_own_epoch_at_the_end(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        await stage.copy(records(0, "a", epoch=3))
        stage.replica.set_mirrored(is_read_only=False, promoted_epoch=EPOCH + 1)
        stage.lead(EPOCH + 1)
        await stage.replica.append(batch_of("b"), NOW_MS, leader_epoch=EPOCH + 1)
        assert stage.replica.log.epochs.entries == [(3, 0), (EPOCH + 1, 1)]
        assert all_values(stage.replica.log) == ["a", "b"]

    run(tmp_path, scenario)


def test_batches_of_later_epochs_than_the_partitions_wait_and_those_of_earlier_ones_are_refused(
    tmp_path: Path,
) -> None:
    async def scenario(stage: MirrorStage) -> None:
        await stage.copy(records(0, "a", epoch=5))
        for epoch in (EPOCH + 1, 4):
            with pytest.raises(AppendRejected, match=f"leader epoch {epoch}"):
                await stage.copy(records(1, "b", epoch=epoch))
        assert all_values(stage.replica.log) == ["a"]

    run(tmp_path, scenario)


def test_a_source_that_lost_records_stops_the_copy(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        await stage.copy(records(0, "a", "b"))
        with pytest.raises(SourceDiverged, match="lost or replaced records from offset 1 on"):
            await stage.mirrored.truncate(1)
        with pytest.raises(SourceDiverged, match="begins at offset 0"):
            await stage.mirrored.start_over(0)
        assert all_values(stage.replica.log) == ["a", "b"]
        assert not stage.mirrored.must_start_over(Append(b"", 0, 50))

    run(tmp_path, scenario)


def test_an_adopted_partition_is_truncated_to_what_the_source_has(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        await stage.copy(records(0, "a"))
        await stage.copy(records(1, "b"))
        await stage.tracked(may_truncate=True).truncate(1)
        assert all_values(stage.replica.log) == ["a"]
        assert stage.replica.high_watermark == 1

    run(tmp_path, scenario)


def test_the_log_start_of_the_source_is_followed(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        await stage.copy(records(0, "a", "b"), start=1)
        assert stage.replica.log.log_start_offset == 1
        await stage.mirrored.start_over(9)
        await stage.copy(records(9, "c"), start=9)
        assert all_values(stage.replica.log) == ["c"]
        assert (stage.replica.log.log_start_offset, stage.replica.high_watermark) == (9, 10)

    run(tmp_path, scenario)


def test_a_forced_promotion_drops_the_records_from_the_first_open_transaction_on(tmp_path: Path) -> None:
    async def scenario(stage: MirrorStage) -> None:
        await stage.copy(records(0, "a"))
        opened = batch_of(
            "b", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True, base_offset=1
        )
        await stage.copy(bytes(opened))
        await stage.mirrored.drop_open_transactions()
        assert stage.mirrored.has_dropped
        assert all_values(stage.replica.log) == ["a"]
        assert stage.mirrored.truncated_from == 2
        assert stage.mirrored.is_frozen
        await stage.mirrored.drop_open_transactions()
        assert stage.mirrored.truncated_from == 2, "what was left behind is not forgotten"

    run(tmp_path, scenario)
