"""The batches of a Fetch response with records for a reader. Pure.

Control batches are never wanted. With read_committed, neither are batches of transactions that were aborted: the broker
lists them in the response, each by its producer and first offset, and each ends with an abort marker (KIP-98).
"""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.protocol.messages.fetch import AbortedTransaction
from penstock.protocol.records.batch import HEADER_SIZE, BatchHeader, crc_is_valid, iter_batches
from penstock.protocol.records.control import ControlType, control_type
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import decode_records
from penstock.protocol.wire import Buffer


class FoundBatch(NamedTuple):
    """A batch of records that is wanted, and where in the buffer it starts."""

    position: int
    header: BatchHeader


def next_offset_after(records: Buffer) -> int | None:
    """The offset behind the last whole batch; None when there is none."""
    after = None
    for _, header in iter_batches(records):
        after = header.next_offset
    return after


def wanted_batches(
    records: Buffer, first: int, end: int, aborted: Sequence[AbortedTransaction] | None
) -> list[FoundBatch]:
    """The whole batches with records from offset `first` up to and without `end`, their CRCs checked.

    `aborted` is None for a reader of everything.
    """
    found: list[FoundBatch] = []
    waiting = sorted(aborted or (), key=lambda transaction: transaction.first_offset, reverse=True)
    aborting: set[int] = set()
    for position, header in iter_batches(records):
        if not crc_is_valid(records, position, header.size_bytes):
            raise CorruptRecords(f"the batch at offset {header.base_offset} does not match its checksum")
        while waiting and waiting[-1].first_offset <= header.last_offset:
            aborting.add(waiting.pop().producer_id)
        if header.is_control:
            if header.producer_id in aborting and _is_abort_marker(records, position):
                aborting.discard(header.producer_id)
        elif header.is_transactional and header.producer_id in aborting:
            continue
        elif header.last_offset >= first and header.base_offset < end and header.record_count:
            if header.size_bytes <= HEADER_SIZE or header.record_count < 0:
                raise CorruptRecords(f"the batch at offset {header.base_offset} announces records it has not")
            found.append(FoundBatch(position, header))
    return found


def _is_abort_marker(records: Buffer, position: int) -> bool:
    control = decode_records(records, pos=position)
    return bool(control) and control_type(control[0].key) is ControlType.ABORT
