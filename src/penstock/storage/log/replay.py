"""After a crash: append the journal's records that the segments have lost to a log."""

from collections.abc import Sequence

from penstock.protocol.records.batch import iter_batches
from penstock.storage.files import Buffer
from penstock.storage.journal.reading import Piece
from penstock.storage.log.log import Log


def replay_journal(log: Log, pieces: Sequence[Piece], *, now_ms: int) -> bool:
    """Append the records that the journal has and the log lacks. Raises `LogError`.

    Returns False if the journal has records beyond the end of the log and lacks those in between: it stops there.
    """
    for piece in pieces:
        if piece.is_damaged or piece.end_offset <= log.log_end_offset:
            continue
        if piece.leader_epoch < (log.epochs.latest_epoch or 0):
            break  # another leader has written since, and truncated these
        if piece.base_offset > log.log_end_offset:
            return False
        records = _between(piece.records, log.log_end_offset, piece.end_offset)
        if records:
            log.append_replicated(records, now_ms=now_ms)
    return True


def _between(records: Buffer, begin_offset: int, end_offset: int) -> memoryview:
    """The batches that lie between these offsets."""
    view = memoryview(records)
    begin = end = 0
    for position, header in iter_batches(view):
        if header.base_offset >= end_offset:
            break
        end = position + header.size_bytes
        if header.base_offset < begin_offset:
            begin = end
    return view[begin:end]
