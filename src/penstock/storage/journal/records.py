"""The records of one log on their way into the journal: collected as they are appended, then part of a round."""

from collections.abc import Sequence

from penstock.storage.files import Buffer
from penstock.storage.journal.journal_file import JournaledLog
from penstock.storage.storable_batch import StorableBatch

JOURNAL_BYTES_MAX = 64 << 10
"""What a log puts into one round of the journal at most: of more, the bytes cost more than a sync of its own."""


class JournalRecords:
    """All that was appended to a log from `base_offset` on."""

    __slots__ = ("base_offset", "buffers", "end_offset", "generation", "leader_epoch", "log", "size_bytes")

    def __init__(self, log: JournaledLog, base_offset: int) -> None:
        self.log = log
        self.base_offset = base_offset
        self.buffers: list[Buffer] = []
        self.size_bytes = 0
        # These are known when they go into a round.
        self.end_offset = base_offset
        self.leader_epoch = 0
        self.generation = 0

    def add(self, batches: Sequence[StorableBatch]) -> bool:
        """Whether that is not too much for the journal."""
        if len(batches) == 1:
            self.buffers.append(batches[0].data)
            self.size_bytes += batches[0].size_bytes
        else:
            self.buffers += [batch.data for batch in batches]
            self.size_bytes += sum([batch.size_bytes for batch in batches])
        return self.size_bytes <= JOURNAL_BYTES_MAX
