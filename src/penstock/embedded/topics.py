"""Topics in a test: produce records, read all of them, wait for those of an application.

Everything goes through Kafka's protocol. `Topic` is a `str`, its own name, so that any client accepts it as a topic.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Self

import msgspec

from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.core.destinations import LeaderOf
from penstock.client.core.fetching import FetchedPartition, FetchLimits
from penstock.client.core.operations import NAMES_LAST
from penstock.client.errors import BrokerError, Disconnected, Retry
from penstock.client.metadata import TopicPartition
from penstock.client.partitioner import partition_of
from penstock.embedded.threads import run_in_thread
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import produce
from penstock.protocol.records.builder import NewRecord, build_batch

_POLL_MS_MAX: Final = 100
_POLL_S: Final = 0.01
_WAIT_S_MAX: Final = 10.0
_FETCH_BYTES_MAX: Final = 50 * 1024 * 1024


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
    """The name of a topic, with methods to read and write it."""

    __slots__ = ("_client",)
    _client: BlockingClient

    def __new__(cls, name: str, client: BlockingClient) -> Self:
        topic = super().__new__(cls, name)
        topic._client = client
        return topic

    @property
    def partitions(self) -> int:
        """The number of partitions; 0 when the topic does not exist."""
        found = self._client.topics([self]).get(self)
        return 0 if found is None else len(found.partitions)

    def produce(
        self,
        *values: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> None:
        """Write records; they are stored when this returns. The key chooses the partition as in Kafka's clients."""
        if partition is None:
            partition = 0 if key is None else partition_of(key, max(1, self.partitions))
        stamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        records = [NewRecord(key, value, tuple(headers), stamp) for value in values]
        data = produce.PartitionProduceData(index=partition, records=build_batch(records))
        request = produce.ProduceRequest(
            acks=-1,
            timeout_ms=self._client.settings.request_timeout_ms,
            topic_data=[produce.TopicProduceData(name=self, partition_data=[data])],
        )
        where = TopicPartition(self, partition)
        self._client.request(
            LeaderOf(*where),
            request,
            error_of=lambda response: int(response.responses[0].partition_responses[0].error_code),
            version_max=NAMES_LAST,
            what=f"writing to {where}",
        )

    def records(self, *, committed_only: bool = False) -> list[Record]:
        """All records, partition by partition."""
        return _Reader(self, self._client, committed_only).read_to_end()

    def wait_for_records(
        self,
        count: int = 1,
        *,
        which: Which | None = None,
        timeout_s: float = _WAIT_S_MAX,
        committed_only: bool = False,
    ) -> list[Record]:
        """Wait for the first `count` records that `which` accepts. The topic need not exist yet.

        Raises `AssertionError` after `timeout_s`, with the records that did arrive.
        """
        return _Reader(self, self._client, committed_only).read(count, which or _any_record, timeout_s)

    async def await_records(
        self,
        count: int = 1,
        *,
        which: Which | None = None,
        timeout_s: float = _WAIT_S_MAX,
        committed_only: bool = False,
    ) -> list[Record]:
        """Like `wait_for_records`, without blocking the event loop."""
        return await run_in_thread(
            partial(
                self.wait_for_records, count, which=which, timeout_s=timeout_s, committed_only=committed_only
            )
        )

    def assert_values(self, expected: Iterable[bytes | None], *, timeout_s: float = _WAIT_S_MAX) -> None:
        """Assert that the topic has records with these values in any order, and no others. Waits for as many."""
        wanted = sorted(expected, key=_sortable)
        self.wait_for_records(len(wanted), timeout_s=timeout_s)
        found = sorted((each.value for each in self.records()), key=_sortable)
        assert found == wanted, f"topic {self} holds {_some(found)}, not {_some(wanted)}"

    def assert_empty(self) -> None:
        """Assert that the topic has no record."""
        found = [each.value for each in self.records()]
        assert not found, f"topic {self} is not empty, it holds {_some(found)}"


class _Reader:
    """Reads a topic from its beginning, with partitions that are added meanwhile."""

    def __init__(self, topic: Topic, client: BlockingClient, committed_only: bool) -> None:
        self._topic = topic
        self._client = client
        self._committed_only = committed_only
        self._positions: dict[TopicPartition, int] = {}
        self._found: list[Record] = []

    def read_to_end(self) -> list[Record]:
        if not self._find_partitions():
            return []
        latest = dict.fromkeys(self._positions, LATEST)
        ends = self._client.list_offsets(latest, reads_committed_only=self._committed_only)
        while behind := [each for each, at in self._positions.items() if at < ends[each].offset]:
            self._fetch(behind, _POLL_MS_MAX)
        wanted = [each for each in self._found if each.offset < ends[_where(each)].offset]
        return sorted(wanted, key=lambda each: (each.partition, each.offset))

    def read(self, count: int, which: Which, timeout_s: float) -> list[Record]:
        deadline_s = time.monotonic() + timeout_s
        while True:
            accepted = [each for each in self._found if which(each)]
            if len(accepted) >= count:
                return accepted[:count]
            left_ms = 1000 * (deadline_s - time.monotonic())
            assert left_ms > 0, self._describe_failure(count, len(accepted), timeout_s)
            try:
                if self._find_partitions():
                    self._fetch(list(self._positions), int(min(left_ms, _POLL_MS_MAX)))
                else:
                    time.sleep(_POLL_S)
            except (Retry, Disconnected):
                time.sleep(_POLL_S)

    def _find_partitions(self) -> bool:
        topic = self._client.topics([self._topic]).get(self._topic)
        if topic is None or topic.error:
            return False
        new = [TopicPartition(self._topic, each) for each in topic.partitions]
        new = [each for each in new if each not in self._positions]
        starts = self._client.list_offsets(dict.fromkeys(new, EARLIEST)) if new else {}
        self._positions.update((where, at.offset) for where, at in starts.items())
        return bool(self._positions)

    def _fetch(self, wanted: list[TopicPartition], wait_ms: int) -> None:
        limits = FetchLimits(
            wait_ms=wait_ms, bytes_max=_FETCH_BYTES_MAX, reads_committed_only=self._committed_only
        )
        fetched = self._client.fetch({where: self._positions[where] for where in wanted}, limits)
        has_moved = any(each.next_offset != self._positions[where] for where, each in fetched.items())
        for where, each in fetched.items():
            self._take(where, each)
            if not has_moved and not each.is_throttled and not each.error:
                # Compaction may have removed the last records before the end.
                end = each.last_stable_offset if self._committed_only else each.high_watermark
                self._positions[where] = max(self._positions[where], end)

    def _take(self, where: TopicPartition, fetched: FetchedPartition) -> None:
        if fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE:  # deleted meanwhile
            self._positions[where] = self._client.list_offsets({where: EARLIEST})[where].offset
        elif fetched.error:
            raise BrokerError(fetched.error, f"reading {where}")
        else:
            self._found += [_record(where, each) for each in fetched.records]
            self._positions[where] = fetched.next_offset

    def _describe_failure(self, count: int, accepted: int, timeout_s: float) -> str:
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
