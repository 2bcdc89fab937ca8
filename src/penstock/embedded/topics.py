"""Topics as a test looks at them: write some records, read all there are, wait for those that an application writes.

It all goes through Kafka's protocol, like everybody else's. `Topic` is a `str`, its own name, so that any client takes
it where a topic is to be named.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import msgspec

from penstock.client.batches import wanted_batches
from penstock.client.blocking.cluster import EARLIEST, LATEST, Cluster
from penstock.client.blocking.retry import Retry
from penstock.client.connection import Disconnected
from penstock.client.errors import BrokerError, error_name
from penstock.client.metadata import TopicPartition
from penstock.client.partitioner import partition_of
from penstock.embedded.beside import beside_loop
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import fetch, produce
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import iter_records

_WITH_NAMES = 12  # the newest Fetch and Produce that name topics; later ones have their ids
_PARTITION_BYTES_MAX = 1024 * 1024
_FETCH_BYTES_MAX = 50 * 1024 * 1024
_POLL_MS_MAX = 100
_LOOK_AGAIN_S = 0.01
_PATIENCE_S = 10.0
_OFFSET_MAX = (1 << 63) - 1


class Record(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


Which = Callable[[Record], bool]


class Topic(str):
    """The name of a topic, and what can be done with it."""

    __slots__ = ("_cluster",)
    _cluster: Cluster

    def __new__(cls, name: str, cluster: Cluster) -> Self:
        topic = super().__new__(cls, name)
        topic._cluster = cluster
        return topic

    @property
    def partitions(self) -> int:
        """How many it has; 0 when there is no such topic."""
        found = self._cluster.topics([self]).get(self)
        return 0 if found is None else len(found.partitions)

    def produce(
        self,
        *values: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> None:
        """Write records that are stored when this returns. A key chooses the partition as Kafka's clients do."""
        if partition is None:
            partition = 0 if key is None else partition_of(key, max(1, self.partitions))
        stamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        records = [NewRecord(key, value, tuple(headers), stamp) for value in values]
        data = produce.PartitionProduceData(index=partition, records=build_batch(records))
        request = produce.ProduceRequest(
            acks=-1,
            timeout_ms=self._cluster.settings.request_timeout_ms,
            topic_data=[produce.TopicProduceData(name=self, partition_data=[data])],
        )
        where = TopicPartition(self, partition)

        def attempt() -> None:
            leader = self._cluster.leader(where)
            try:
                with self._cluster.connection(leader.address) as connection:
                    version = connection.version(produce.API_KEY, _WITH_NAMES)
                    answer = connection.call(produce.API_KEY, version, request)
            except Disconnected:
                self._cluster.forget_leader(where)
                raise
            self._check(answer.responses[0].partition_responses[0].error_code, where, "writing to")

        self._cluster.until_done(f"writing to {where}", attempt)

    def records(self, *, committed_only: bool = False) -> list[Record]:
        """All that it holds now, partition by partition."""
        return _Reader(self, self._cluster, committed_only).read_to_end()

    def wait_for_records(
        self,
        count: int = 1,
        *,
        which: Which | None = None,
        timeout_s: float = _PATIENCE_S,
        committed_only: bool = False,
    ) -> list[Record]:
        """The first `count` records (of those that `which` accepts), as soon as they are there. The topic need not
        exist yet. Raises `AssertionError`, which tells what did come, after `timeout_s`.
        """
        return _Reader(self, self._cluster, committed_only).read(count, which or _any_record, timeout_s)

    async def await_records(
        self,
        count: int = 1,
        *,
        which: Which | None = None,
        timeout_s: float = _PATIENCE_S,
        committed_only: bool = False,
    ) -> list[Record]:
        """Like `wait_for_records`, for a test whose event loop must go on meanwhile."""
        return await beside_loop(
            partial(
                self.wait_for_records, count, which=which, timeout_s=timeout_s, committed_only=committed_only
            )
        )

    def assert_values(self, expected: Iterable[bytes | None], *, timeout_s: float = _PATIENCE_S) -> None:
        """It holds records with these values, in any order, and no others. Waits until as many have come."""
        wanted = sorted(expected, key=_sortable)
        self.wait_for_records(len(wanted), timeout_s=timeout_s)
        found = sorted((each.value for each in self.records()), key=_sortable)
        assert found == wanted, f"topic {self} holds {_some(found)}, not {_some(wanted)}"

    def assert_empty(self) -> None:
        """It holds no record now."""
        found = [each.value for each in self.records()]
        assert not found, f"topic {self} was to be empty, and holds {_some(found)}"

    def _check(self, code: int, where: TopicPartition, what: str) -> None:
        if code and is_retriable(code):
            self._cluster.forget_leader(where)
            raise Retry(f"{where} was answered with {error_name(code)}")
        if code:
            raise BrokerError(code, f"{what} {where}")


class _Reader:
    """Goes through a topic from its beginning; a partition that is added on the way is found."""

    def __init__(self, topic: Topic, cluster: Cluster, committed_only: bool) -> None:
        self._topic = topic
        self._cluster = cluster
        self._committed_only = committed_only
        self._positions: dict[TopicPartition, int] = {}
        self._found: list[Record] = []

    def read_to_end(self) -> list[Record]:
        if not self._find_partitions():
            return []
        latest = dict.fromkeys(self._positions, LATEST)
        ends = self._cluster.list_offsets(latest, reads_committed_only=self._committed_only)
        while behind := [each for each, at in self._positions.items() if at < ends[each].offset]:
            self._cluster.until_done(f"reading {self._topic}", partial(self._fetch, behind, _POLL_MS_MAX))
        wanted = [each for each in self._found if each.offset < ends[_where(each)].offset]
        return sorted(wanted, key=lambda each: (each.partition, each.offset))

    def read(self, count: int, which: Which, timeout_s: float) -> list[Record]:
        deadline_s = time.monotonic() + timeout_s
        while True:
            accepted = [each for each in self._found if which(each)]
            if len(accepted) >= count:
                return accepted[:count]
            left_ms = 1000 * (deadline_s - time.monotonic())
            assert left_ms > 0, self._what_came(count, len(accepted), timeout_s)
            try:
                if self._find_partitions():
                    self._fetch(list(self._positions), int(min(left_ms, _POLL_MS_MAX)))
                else:
                    time.sleep(_LOOK_AGAIN_S)
            except (Retry, Disconnected):
                time.sleep(_LOOK_AGAIN_S)

    def _find_partitions(self) -> bool:
        topic = self._cluster.topics([self._topic]).get(self._topic)
        if topic is None or topic.error:
            return False
        new = [TopicPartition(self._topic, each) for each in topic.partitions]
        new = [each for each in new if each not in self._positions]
        starts = self._cluster.list_offsets(dict.fromkeys(new, EARLIEST)) if new else {}
        self._positions.update((where, at.offset) for where, at in starts.items())
        return bool(self._positions)

    def _fetch(self, wanted: list[TopicPartition], wait_ms: int) -> None:
        """Ask each leader once for what is new. It waits there if there is nothing, and no other to be asked."""
        by_leader: dict[tuple[str, int], list[TopicPartition]] = {}
        for where in wanted:
            by_leader.setdefault(self._cluster.leader(where).address, []).append(where)
        for address, group in by_leader.items():
            request = self._request(group, wait_ms if len(by_leader) == 1 else min(wait_ms, 10))
            try:
                with self._cluster.connection(address) as connection:
                    version = connection.version(fetch.API_KEY, _WITH_NAMES)
                    answer = connection.call(fetch.API_KEY, version, request)
            except Disconnected:
                for where in group:
                    self._cluster.forget_leader(where)
                raise
            answers = [data for topic in answer.responses for data in topic.partitions]
            for data in answers:
                self._take(TopicPartition(self._topic, data.partition_index), data)
            if not answer.throttle_time_ms and not any(data.records for data in answers):
                self._skip_to_ends(answers)

    def _request(self, wanted: list[TopicPartition], wait_ms: int) -> fetch.FetchRequest:
        partitions = [
            fetch.FetchPartition(
                partition=where.partition,
                fetch_offset=self._positions[where],
                partition_max_bytes=_PARTITION_BYTES_MAX,
            )
            for where in wanted
        ]
        return fetch.FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=_FETCH_BYTES_MAX,
            isolation_level=int(self._committed_only),
            topics=[fetch.FetchTopic(topic=self._topic, partitions=partitions)],
        )

    def _take(self, where: TopicPartition, data: fetch.PartitionData) -> None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:  # deleted meanwhile
            self._positions[where] = self._cluster.list_offsets({where: EARLIEST})[where].offset
            return
        self._topic._check(data.error_code, where, "reading")  # noqa: SLF001 - the same module's
        records = data.records
        if not records:
            return
        aborted = (data.aborted_transactions or ()) if self._committed_only else None
        first = self._positions[where]
        for batch in wanted_batches(records, first, _OFFSET_MAX, aborted):
            self._found += [
                _record(where, each)
                for each in iter_records(records, pos=batch.position)
                if each.offset >= first
            ]
        for _, header in iter_batches(records):
            self._positions[where] = header.next_offset

    def _skip_to_ends(self, answers: Iterable[fetch.PartitionData]) -> None:
        """There is nothing more: compaction may have taken the last records before the end."""
        for data in answers:
            where = TopicPartition(self._topic, data.partition_index)
            end = data.last_stable_offset if self._committed_only else data.high_watermark
            self._positions[where] = max(self._positions[where], end)

    def _what_came(self, count: int, accepted: int, timeout_s: float) -> str:
        came = _some([each.value for each in self._found]) if self._found else "nothing"
        accepted_text = "" if accepted == len(self._found) else f", of which {accepted} were accepted"
        exists = "" if self._positions else " (there is no such topic)"
        wanted = f"{count} records were to come to {self._topic}{exists} within {timeout_s} s"
        return f"{wanted}; it has {came}{accepted_text}"


def _record(where: TopicPartition, found: Any) -> Record:
    return Record(
        topic=where.topic,
        partition=where.partition,
        offset=found.offset,
        timestamp_ms=found.timestamp,
        key=found.key,
        value=found.value,
        headers=found.headers,
    )


def _where(record: Record) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)


def _any_record(_record: Record) -> bool:
    return True


def _sortable(value: bytes | None) -> tuple[bool, bytes]:
    return (value is not None, value or b"")


def _some(values: Sequence[bytes | None]) -> str:
    shown = ", ".join(repr(each) for each in values[:5])
    return f"{len(values)} records: {shown}{', …' if len(values) > 5 else ''}"
