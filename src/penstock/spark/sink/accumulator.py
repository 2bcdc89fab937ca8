"""Builds record batches from rows: with sequence numbers, compressed, of bounded size. No I/O.

A sealed batch keeps its sequence number when it is sent again, so that a broker detects the duplicate (KIP-98). Rows of
a partition keep their order.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.client.metadata import TopicPartition
from penstock.protocol.records.batch import advance_sequence
from penstock.spark.sink.columns import Rows
from penstock.spark.sink.decision import Producer
from penstock.spark.sink.errors import RowError
from penstock.spark.sink.partitioner import Int32s, Partitioner
from penstock.spark.sink.records import BatchRecords
from penstock.spark.sink.settings import SinkSettings


class SealedBatch(msgspec.Struct, frozen=True, gc=False):
    """A batch that is ready to be sent, and sent again."""

    tp: TopicPartition
    data: bytes


class Accumulator:
    def __init__(
        self,
        settings: SinkSettings,
        producer: Producer,
        *,
        is_transactional: bool,
        partition_count: Callable[[str], int],
        now_ms: Callable[[], int],
        first_partition: int = 0,
    ) -> None:
        self._settings = settings
        self._producer = producer
        self._is_transactional = is_transactional
        self._partition_count = partition_count
        self._now_ms = now_ms
        self._partitioner = Partitioner(first_partition)
        self._building: dict[TopicPartition, BatchRecords] = {}
        self._sequences: dict[TopicPartition, int] = {}

    def add(self, rows: Rows) -> Iterator[SealedBatch]:
        """Add rows; yield the batches that are full."""
        now_ms = self._now_ms()
        for topic, indexes in self._by_topic(rows):
            keys = rows.keys if indexes is None or rows.keys is None else rows.keys.take(pa.array(indexes))
            count = rows.count if indexes is None else len(indexes)
            chosen = self._partitioner.partitions(topic, keys, count, self._partition_count(topic))
            if rows.partitions is not None:
                self._override(topic, chosen, rows.partitions, indexes)
            yield from self._append(topic, rows, chosen, indexes, now_ms)

    def flush(self) -> Iterator[SealedBatch]:
        for tp in list(self._building):
            yield self._seal(tp)

    def _by_topic(self, rows: Rows) -> Iterator[tuple[str, Any]]:
        """Yield each topic with the indexes of its rows; None: all rows."""
        if self._settings.topic is not None:
            yield self._settings.topic, None
            return
        assert rows.topics is not None
        names, which = np.unique(np.array(rows.topics, object), return_inverse=True)
        for index, name in enumerate(names):
            yield str(name), None if len(names) == 1 else np.flatnonzero(which == index)

    def _override(self, topic: str, chosen: Int32s, wanted: Sequence[int | None], indexes: Any) -> None:
        count = self._partition_count(topic)
        for position, row in enumerate(range(len(chosen)) if indexes is None else indexes.tolist()):
            partition = wanted[row]
            if partition is None:
                continue
            if not 0 <= partition < count:
                raise RowError(
                    f"a row asks for partition {partition} of topic {topic!r}, which has partitions 0 to {count - 1}"
                )
            chosen[position] = partition

    def _append(
        self, topic: str, rows: Rows, chosen: Int32s, indexes: Any, now_ms: int
    ) -> Iterator[SealedBatch]:
        keys: Sequence[bytes | None] = [None] * rows.count if rows.keys is None else rows.keys.to_pylist()
        columns = (keys, rows.values.to_pylist(), rows.headers)
        for partition in np.unique(chosen).tolist():
            tp = TopicPartition(topic, partition)
            own_rows = np.flatnonzero(chosen == partition)
            wanted = (own_rows if indexes is None else indexes[own_rows]).tolist()
            taken = 0
            while taken < len(wanted):
                if tp not in self._building:
                    self._building[tp] = BatchRecords(now_ms)
                taken = self._building[tp].take(
                    wanted, taken, columns, timestamp_ms=now_ms, batch_bytes=self._settings.batch_bytes
                )
                if taken < len(wanted):
                    yield self._seal(tp)

    def _seal(self, tp: TopicPartition) -> SealedBatch:
        records = self._building.pop(tp)
        sequence = self._sequences.get(tp, 0)
        self._sequences[tp] = advance_sequence(sequence, len(records))
        data = records.seal(
            codec=self._settings.codec,
            level=self._settings.level,
            producer=self._producer,
            base_sequence=sequence,
            is_transactional=self._is_transactional,
        )
        return SealedBatch(tp, data)
