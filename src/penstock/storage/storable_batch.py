"""A checked batch, as an append hands it to the segment that stores it."""

import msgspec

from penstock.protocol.records.batch import BatchHeader
from penstock.protocol.records.control import EndTxnMarker
from penstock.storage.files import Buffer


class StorableBatch(msgspec.Struct, gc=False):
    """A batch as it goes to disk, and what the log must know about it."""

    data: Buffer
    header: BatchHeader
    base_offset: int
    last_offset: int
    max_timestamp: int
    size_bytes: int
    marker: EndTxnMarker | None = None
    """Of a control batch that a leader has checked."""
