"""A share partition and what is done with it, in few words."""

from collections.abc import Sequence

from penstock.share.partition.change import Change
from penstock.share.partition.share_partition import SharePartition
from penstock.share.partition.values import (
    Acknowledgement,
    Acquired,
    AcquireMode,
    OffsetRange,
    PartitionSettings,
)
from penstock.share.state.values import UNINITIALIZED_OFFSET, RecordState, ShareState, StateBatch

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
LOCK_MS = 30_000


def settings(*, limit: int = 5, locks_max: int = 2000, allows_renewal: bool = True) -> PartitionSettings:
    return PartitionSettings(
        lock_duration_ms=LOCK_MS,
        delivery_count_limit=limit,
        record_locks_max=locks_max,
        allows_renewal=allows_renewal,
    )


def new(
    *batches: tuple[int, int, RecordState, int],
    start: int = UNINITIALIZED_OFFSET,
    using: PartitionSettings | None = None,
) -> SharePartition:
    """With the state that the persister had; `start` is then its start offset, otherwise that of an empty log."""
    state = ShareState(0, start, [StateBatch(*batch) for batch in batches])
    return SharePartition(state, start_offset_if_new=0, settings=using or settings())


def fetch(
    partition: SharePartition,
    member_id: str,
    *batches: tuple[int, int],
    records_max: int = 500,
    batch_size: int = 500,
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
    aborted: Sequence[tuple[int, int]] = (),
    now_ms: int = 0,
    at: int | None = None,
) -> list[Acquired]:
    """Acquire from these record batches, read at the next fetch offset."""
    return partition.acquire(
        member_id,
        fetch_offset=partition.next_fetch_offset if at is None else at,
        batches=[OffsetRange(*batch) for batch in batches],
        records_max=records_max,
        batch_size=batch_size,
        mode=mode,
        aborted=[OffsetRange(*batch) for batch in aborted],
        now_ms=now_ms,
    )


def ask(
    partition: SharePartition, member_id: str, first: int, last: int, *types: int, now_ms: int = 0
) -> Change:
    """Acknowledge, and leave the write pending."""
    change = partition.acknowledge(member_id, [Acknowledgement(first, last, types)], now_ms)
    assert isinstance(change, Change), change
    return change


def acknowledge(partition: SharePartition, member_id: str, first: int, last: int, *types: int) -> None:
    ask(partition, member_id, first, last, *types).commit()


def give_back(partition: SharePartition, member_id: str, *batches: tuple[int, int], times: int) -> None:
    """Acquire these batches and release them, so many times."""
    for _ in range(times):
        fetch(partition, member_id, *batches, at=batches[0][0])
        partition.release(member_id).commit()
