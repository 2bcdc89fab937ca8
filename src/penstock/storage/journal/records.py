"""The records of one log on their way into the journal: collected as they are appended, then part of a round."""

from collections.abc import Sequence

import msgspec

from penstock.storage.files import Buffer
from penstock.storage.journal.journal_file import JournaledLog
from penstock.storage.storable_batch import StorableBatch

JOURNAL_BYTES_MAX = 64 << 10
"""A log puts no more into one round of the journal: of more, the bytes cost more than a sync of its own."""


class JournalRecords(msgspec.Struct, eq=False):
    """All that was appended to a log from `base_offset` on."""

    log: JournaledLog
    base_offset: int
    buffers: list[Buffer] = msgspec.field(default_factory=list)
    size_bytes: int = 0
    # These are known when they go into a round.
    end_offset: int = 0
    leader_epoch: int = 0
    generation: int = 0

    def add(self, batches: Sequence[StorableBatch]) -> bool:
        """Whether that is not too much for the journal."""
        if len(batches) == 1:
            self.buffers.append(batches[0].data)
            self.size_bytes += batches[0].size_bytes
        else:
            self.buffers += [batch.data for batch in batches]
            self.size_bytes += sum([batch.size_bytes for batch in batches])
        return self.size_bytes <= JOURNAL_BYTES_MAX
