"""Turns the records that a follower has fetched into batches that may be stored."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import crc_is_valid, iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.errors import AppendRejected
from penstock.storage.files import Buffer
from penstock.storage.storable_batch import StorableBatch

LEADER_EPOCH_MAX = 2**31 - 1


def prepare_replicated(
    records: Buffer, next_offset: int, leader_epoch_max: int = LEADER_EPOCH_MAX, *, leader_epoch_min: int = -1
) -> list[StorableBatch]:
    """Check fetched records of a follower: whole batches with good checksums and ascending offsets.

    A partial batch at the end is left out: the leader may cut its responses anywhere. Offsets may have gaps, which
    compaction leaves. A leader returns no records of a later epoch than its own: they would come from another leader,
    whose log may differ below them. Nor does it return records of an epoch before `leader_epoch_min`. Raises
    `AppendRejected`.
    """
    view = memoryview(records)
    batches = []
    try:
        for position, header in iter_batches(records):
            size = header.size_bytes
            if not crc_is_valid(view, position, size):
                raise AppendRejected(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"the batch at offset {header.base_offset} does not match its CRC",
                )
            if header.base_offset < next_offset or header.last_offset_delta < 0:
                raise AppendRejected(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"a fetched batch begins at offset {header.base_offset}, but the log has all below "
                    f"{next_offset}: nothing was stored",
                )
            if header.leader_epoch > leader_epoch_max:
                raise AppendRejected(
                    ErrorCode.UNKNOWN_LEADER_EPOCH,
                    f"the batch at offset {header.base_offset} was written in leader epoch {header.leader_epoch}, and "
                    f"the leader of epoch {leader_epoch_max} gave it: nothing was stored",
                )
            if 0 <= header.leader_epoch < leader_epoch_min:
                raise AppendRejected(
                    ErrorCode.FENCED_LEADER_EPOCH,
                    f"the batch at offset {header.base_offset} was written in leader epoch {header.leader_epoch}, and "
                    f"an earlier one in epoch {leader_epoch_min}: nothing was stored",
                )
            next_offset = header.next_offset
            data = view[position : position + size]
            batches.append(
                StorableBatch(data, header, header.base_offset, next_offset - 1, header.max_timestamp, size)
            )
    except CorruptRecords as error:
        raise AppendRejected(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    return batches
