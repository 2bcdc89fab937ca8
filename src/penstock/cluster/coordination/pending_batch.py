"""What a coordinator appends together, and who waits until it is committed."""

import asyncio
from collections.abc import Sequence

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.observability.completion import Completion
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.protocol.records.builder import BatchBuilder, NewRecord

RECORD_OVERHEAD_BYTES = 96  # the record's own lengths, and the batch header of one that stands alone
_HEADER_OVERHEAD_BYTES = 10  # the lengths of a record header's name and value


class PendingBatch:
    """One batch of the log, or several when one change has more than a batch may hold: they are one append."""

    __slots__ = ("_builders", "_timer", "_waiters", "size_bytes")

    def __init__(self, timeout_ms: int | None = None) -> None:
        self._builders = [BatchBuilder()]
        self.size_bytes = self._builders[0].size_bytes
        self._waiters: list[Completion[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        if timeout_ms is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(timeout_ms / 1000, self.fail, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def add(self, records: Sequence[NewRecord], size_bytes_max: int) -> None:
        builder = self._builders[-1]
        self.size_bytes -= builder.size_bytes
        for record in records:
            if len(builder) and builder.size_bytes + size_of(record) > size_bytes_max:
                self.size_bytes += builder.size_bytes
                builder = BatchBuilder()
                self._builders.append(builder)
            builder.append(record.key, record.value, timestamp=record.timestamp, headers=record.headers)
        self.size_bytes += builder.size_bytes

    def build(
        self,
        codec: Codec,
        size_bytes_max: int,
        *,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> bytearray:
        """What is appended; with a producer it is part of its transaction."""
        built = bytearray()
        for builder in self._builders:
            for each in (codec, Codec.NONE):  # what does not compress may grow
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
        self._stop_timer()
        for waiter in self._waiters:
            waiter.resolve(None)

    def fail(self, code: ErrorCode) -> None:
        """Tell whoever waits. After a timeout the records may still get committed, and then count."""
        self._stop_timer()
        for waiter in self._waiters:
            waiter.fail(CoordinatorError(code))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def size_of(record: NewRecord) -> int:
    """How much room a record needs at most, also in a batch of its own."""
    size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += _HEADER_OVERHEAD_BYTES + len(name.encode()) + len(value or b"")
    return size
