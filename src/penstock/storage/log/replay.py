"""After a crash: append to a log what the journal has and its segments have lost."""

from collections.abc import Sequence

from penstock.protocol.records.batch import iter_batches
from penstock.storage.files import Buffer
from penstock.storage.journal.reading import Piece
from penstock.storage.log.log import Log


def replay_journal(log: Log, pieces: Sequence[Piece], *, now_ms: int, is_intact: bool) -> bool:
    """Append what the journal has for the log and the log does not have. Raises `LogError`.

    False when the journal has records behind the end of the log and lacks those in between: it stops there.

    `is_intact`: recovery has cut nothing off. Else the segments must be synced before the journal is relied on:
    what was cut could come back, and stand behind other records.
    """
    durable_offset = max(log.durable_offset, *(each.end_offset for each in pieces if not each.records), 0)
    for piece in pieces:
        if not piece.records:
            continue
        if piece.base_offset <= durable_offset:
            durable_offset = max(durable_offset, piece.end_offset)
        if piece.end_offset <= log.log_end_offset:
            continue
        if piece.leader_epoch < (log.epochs.latest_epoch or 0):
            break  # another leader has written since, and truncated these
        if piece.base_offset > log.log_end_offset:
            return False
        records = _between(piece.records, log.log_end_offset, piece.end_offset)
        if records:
            log.append_replicated(records, now_ms=now_ms)
    has_truncation = any(each.is_truncation for each in pieces)
    if is_intact and pieces and durable_offset >= log.log_end_offset and not has_truncation:
        log.rely_on_journal()
    elif log.chain.names_unsynced or log.durable_offset < log.log_end_offset:  # after a crash
        log.distrust_length()
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
