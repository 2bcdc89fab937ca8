"""The offsets of a topic at the start of a query, and the ranges of them that a filter needs."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from penstock.arrow.ranges import OffsetRange
from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.errors import BrokerError
from penstock.client.metadata import TopicPartition
from penstock.protocol.messages import describe_configs
from penstock.sql.pushdown import Filter, Wanted

_TOPIC: Final = 2  # the resource type in DescribeConfigs
_TIMESTAMP_TYPE: Final = "message.timestamp.type"


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The offsets of each partition: the first, and the one after the last. Records that come later are not read."""

    topic: str
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    is_time_ordered: bool = False

    @property
    def records_max(self) -> int:
        return sum(end - self.starts[partition] for partition, end in self.ends.items())

    def after(self, earlier: "Snapshot") -> "Snapshot":
        """Return only what has come since another snapshot."""
        starts = {p: max(start, earlier.ends.get(p, start)) for p, start in self.starts.items()}
        return msgspec.structs.replace(self, starts=starts)


def take_snapshot(client: BlockingClient, topic: str, *, is_time_ordered: bool = False) -> Snapshot:
    """With read_committed a partition ends at its last stable offset."""
    found = client.topics([topic]).get(topic)
    if found is None or found.error:
        raise BrokerError(found.error if found else 3, f"reading topic {topic}")
    partitions = [TopicPartition(topic, index) for index in sorted(found.partitions)]
    committed = client.settings.reads_committed_only
    starts = client.list_offsets(dict.fromkeys(partitions, EARLIEST), reads_committed_only=committed)
    ends = client.list_offsets(dict.fromkeys(partitions, LATEST), reads_committed_only=committed)
    return Snapshot(
        topic=topic,
        starts={tp.partition: starts[tp].offset for tp in partitions},
        ends={tp.partition: max(ends[tp].offset, starts[tp].offset) for tp in partitions},
        is_time_ordered=is_time_ordered,
    )


def ranges_for(client: BlockingClient, snapshot: Snapshot, wanted_by: Filter) -> list[OffsetRange]:
    """Return the ranges that can have records for the filter; a partition without any is left out.

    Times of records need not ascend. The first record at or after a time is known, so a lower bound is exact. Records
    below an upper bound may come after it: only in a topic whose times ascend does it end the range.
    """
    wanted = {
        TopicPartition(snapshot.topic, partition): found
        for partition, end in snapshot.ends.items()
        if (found := wanted_by.wanted(partition, snapshot.starts[partition], end)) is not None
    }
    firsts = _offsets_at(client, {tp: each.first_ms for tp, each in wanted.items()})
    after = {tp: None if each.last_ms is None else each.last_ms + 1 for tp, each in wanted.items()}
    ends = (
        _offsets_at(client, after)
        if any(time is not None for time in after.values()) and _is_time_ordered(client, snapshot)
        else {}
    )
    ranges = [
        OffsetRange(
            topic=tp.topic,
            partition=tp.partition,
            start=max(each.first, _or_end(firsts.get(tp), snapshot.ends[tp.partition], each.first)),
            end=_end(each, ends.get(tp)),
        )
        for tp, each in wanted.items()
    ]
    return [each for each in ranges if each.size]


def _or_end(found: int | None, end: int, unlimited: int) -> int:
    """Return the offset of a time; -1 means that no record is that recent."""
    if found is None:
        return unlimited
    return end if found < 0 else found


def _end(wanted: Wanted, found: int | None) -> int:
    return wanted.last + 1 if found is None or found < 0 else min(wanted.last + 1, found)


def _offsets_at(
    client: BlockingClient, times_ms: Mapping[TopicPartition, int | None]
) -> dict[TopicPartition, int]:
    asked = {tp: time for tp, time in times_ms.items() if time is not None}
    if not asked:
        return {}
    committed = client.settings.reads_committed_only
    return {
        tp: found.offset for tp, found in client.list_offsets(asked, reads_committed_only=committed).items()
    }


def _is_time_ordered(client: BlockingClient, snapshot: Snapshot) -> bool:
    """Say whether the broker sets the times, in ascending order. Without the right to ask, assume that it does not."""
    if snapshot.is_time_ordered:
        return True
    resource = describe_configs.DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=snapshot.topic, configuration_keys=[_TIMESTAMP_TYPE]
    )
    request = describe_configs.DescribeConfigsRequest(resources=[resource])
    results = client.call_any(describe_configs.API_KEY, lambda _: request).results
    values: Sequence[str | None] = [config.value for each in results for config in each.configs]
    return "LogAppendTime" in values
