"""The records that a coordinator appends together, and the callers that wait until they are committed."""

from collections.abc import Sequence

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.protocol.records.builder import BatchBuilder, NewRecord
from penstock.runtime.completion import Completion

RECORD_OVERHEAD_BYTES = 96  # the record's own lengths, and the batch header if it is the only record
_HEADER_OVERHEAD_BYTES = 10  # the lengths of a record header's name and value


class PendingBatch:
    """One batch of the log, or several when one change has more than a batch may hold: they are one append."""

    __slots__ = ("_builders", "_waiters", "size_bytes")

    def __init__(self) -> None:
        self._builders = [BatchBuilder()]
        self.size_bytes = self._builders[0].size_bytes
        self._waiters: list[Completion[None]] = []

    def add(self, records: Sequence[NewRecord], size_bytes: int, size_bytes_max: int) -> None:
        """Add records of at most `size_bytes` together, in batches of at most `size_bytes_max`."""
        builder = self._builders[-1]
        self.size_bytes -= builder.size_bytes
        fits = builder.size_bytes + size_bytes <= size_bytes_max
        for record in records:
            if not fits and len(builder) and builder.size_bytes + size_of(record) > size_bytes_max:
                self.size_bytes += builder.size_bytes
                builder = BatchBuilder()
                self._builders.append(builder)
            builder.append(record.key, record.value, record.headers, timestamp=record.timestamp)
        self.size_bytes += builder.size_bytes

    def build(
        self,
        codec: Codec,
        size_bytes_max: int,
        *,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> bytearray:
        """Build the batches to append; with a producer id they are part of its transaction."""
        built = bytearray()
        for builder in self._builders:
            for each in (codec, Codec.NONE):  # incompressible records may grow
                batch = builder.build(
                    codec=each,
                    producer_id=producer_id,
                    producer_epoch=producer_epoch,
                    is_transactional=producer_id != NO_PRODUCER_ID,
                )
                if len(batch) <= size_bytes_max:
                    break
            built += batch
        return built

    def wait(self) -> Completion[None]:
        waiter: Completion[None] = Completion()
        self._waiters.append(waiter)
        return waiter

    def succeed(self) -> None:
        for waiter in self._waiters:
            waiter.resolve(None)

    def fail(self, code: ErrorCode) -> None:
        """Fail all waiters. After a timeout the records may still be committed, and then count."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.fail(CoordinatorError(code))


def size_of(record: NewRecord) -> int:
    """The maximum size of a record, even if it has a batch to itself."""
    size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += _HEADER_OVERHEAD_BYTES + len(name.encode()) + len(value or b"")
    return size
