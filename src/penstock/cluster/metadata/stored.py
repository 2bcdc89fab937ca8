"""The metadata log on disk: partition 0 of `__cluster_metadata`, an ordinary log of the storage engine."""

from collections.abc import Iterable

from penstock.cluster.topic_names import CLUSTER_METADATA
from penstock.protocol.wire import Buffer
from penstock.storage.flusher import Flusher
from penstock.storage.log import Cold, Log
from penstock.storage.log_store import LogStore
from penstock.storage.log_values import Origin

_READ_BYTES = 1 << 20


class StoredMetadata:
    """A `RecordSink` for `MetadataLog`: a single node is a quorum of one, so what is durable is committed."""

    def __init__(self, log: Log, flusher: Flusher) -> None:
        self._log = log
        self._flusher = flusher

    async def append(self, batch: bytes, now_ms: int) -> int:
        appended = self._log.append(
            bytearray(batch), leader_epoch=0, now_ms=now_ms, origin=Origin.COORDINATOR
        )
        await self._flusher.request(self._log)
        return appended.last_offset

    def batches(self) -> Iterable[Buffer]: ...

    @property
    def next_offset(self) -> int:
        return self._log.log_end_offset
