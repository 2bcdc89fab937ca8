"""The metadata log on disk: partition 0 of `__cluster_metadata`, an ordinary log of the storage engine."""

from collections.abc import AsyncIterator

from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.topic_names import CLUSTER_METADATA
from penstock.config.topic import TopicConfig
from penstock.protocol.wire import Buffer
from penstock.storage.flusher import Flusher
from penstock.storage.log import Origin
from penstock.storage.log_store import LogStore

# KRaft's own id for its topic.
METADATA_TOPIC_ID = bytes(15) + b"\x01"
_CONFIG = TopicConfig(max_message_bytes=2**31 - 1, retention_ms=-1)
_READ_BYTES = 1 << 20


class StoredMetadata:
    """A `RecordSink` for `MetadataLog`: a single node is a quorum of one, so what is durable is committed."""

    def __init__(self, store: LogStore, flusher: Flusher) -> None:
        """Raises `MetadataError` when the metadata of a directory with topics in it is gone."""
        self._log = store.open_or_create(CLUSTER_METADATA, METADATA_TOPIC_ID, 0, _CONFIG)
        self._flusher = flusher
        others = sorted(name for name in store.partitions if name.topic != CLUSTER_METADATA)
        if others and self._log.log_end_offset == 0:
            # A topic's metadata is durable before its logs are made: this is damage, not a first start.
            raise MetadataError(
                f"{self._log.directory} is empty, but {store.directory} holds logs of {len(others)} partitions "
                f"({others[0].directory}, …): restore it from a backup, or move the logs away to begin anew"
            )

    async def append(self, batch: bytes, now_ms: int) -> int:
        appended = self._log.append(
            bytearray(batch), leader_epoch=0, now_ms=now_ms, origin=Origin.COORDINATOR
        )
        await self._flusher.request(self._log)
        return appended.last_offset

    async def batches(self) -> AsyncIterator[Buffer]:
        offset = self._log.log_start_offset
        while offset < self._log.log_end_offset:
            piece = await self._log.read_cold(offset, _READ_BYTES, offset_limit=self._log.log_end_offset)
            yield piece.records
            offset = piece.next_offset

    @property
    def next_offset(self) -> int:
        return self._log.log_end_offset
