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
from penstock.spark.sink.errors import RowError
from penstock.spark.sink.partitioner import Int32s, Partitioner
from penstock.spark.sink.records import BatchRecords
from penstock.spark.sink.settings import SinkSettings


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """A batch that is ready to be sent, and sent again."""

    where: TopicPartition
    data: bytes


class Accumulator:
    def __init__(
        self,
        settings: SinkSettings,
        producer: tuple[int, int],
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

    def add(self, rows: Rows) -> Iterator[Sealed]:
        """Add rows; yield the batches that are full."""
        now_ms = self._now_ms()
        for topic, places in self._by_topic(rows):
            keys = rows.keys if places is None or rows.keys is None else rows.keys.take(pa.array(places))
            count = rows.count if places is None else len(places)
            chosen = self._partitioner.partitions(topic, keys, count, self._partition_count(topic))
            if rows.partitions is not None:
                self._override(topic, chosen, rows.partitions, places)
            yield from self._append(topic, rows, chosen, places, now_ms)

    def flush(self) -> Iterator[Sealed]:
        for where in list(self._building):
            yield self._seal(where)

    def _by_topic(self, rows: Rows) -> Iterator[tuple[str, Any]]:
        """Yield each topic with the indexes of its rows; None: all rows."""
        if self._settings.topic is not None:
            yield self._settings.topic, None
            return
        assert rows.topics is not None
        names, which = np.unique(np.array(rows.topics, object), return_inverse=True)
        for index, name in enumerate(names):
            yield str(name), None if len(names) == 1 else np.flatnonzero(which == index)

    def _override(self, topic: str, chosen: Int32s, wanted: Sequence[int | None], places: Any) -> None:
        count = self._partition_count(topic)
        for index, place in enumerate(range(len(chosen)) if places is None else places.tolist()):
            partition = wanted[place]
            if partition is None:
                continue
            if not 0 <= partition < count:
                raise RowError(
                    f"a row asks for partition {partition} of topic {topic!r}, which has partitions 0 to {count - 1}"
                )
            chosen[index] = partition

    def _append(self, topic: str, rows: Rows, chosen: Int32s, places: Any, now_ms: int) -> Iterator[Sealed]:
        keys: Sequence[bytes | None] = [None] * rows.count if rows.keys is None else rows.keys.to_pylist()
        columns = (keys, rows.values.to_pylist(), rows.headers)
        for partition in np.unique(chosen).tolist():
            where = TopicPartition(topic, partition)
            mine = np.flatnonzero(chosen == partition)
            wanted = (mine if places is None else places[mine]).tolist()
            taken = 0
            while taken < len(wanted):
                if where not in self._building:
                    self._building[where] = BatchRecords(now_ms)
                taken = self._building[where].take(
                    wanted, taken, columns, timestamp_ms=now_ms, batch_bytes=self._settings.batch_bytes
                )
                if taken < len(wanted):
                    yield self._seal(where)

    def _seal(self, where: TopicPartition) -> Sealed:
        records = self._building.pop(where)
        sequence = self._sequences.get(where, 0)
        self._sequences[where] = advance_sequence(sequence, len(records))
        data = records.seal(
            codec=self._settings.codec,
            level=self._settings.level,
            producer=self._producer,
            base_sequence=sequence,
            is_transactional=self._is_transactional,
        )
        return Sealed(where, data)
