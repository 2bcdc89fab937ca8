"""Limits the records of a batch and splits them into tasks. No I/O except for a log line."""

import heapq
import itertools
import logging
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from penstock.arrow.ranges import DataLoss, OffsetRange
from penstock.client.metadata import TopicPartition
from penstock.spark.source.offsets import Offsets

# A task costs Spark about as much as reading this many records.
TASK_RECORDS: Final = 20_000

_log = logging.getLogger(__name__)


def report_losses(losses: Sequence[str], *, fails_on_data_loss: bool) -> None:
    if losses and fails_on_data_loss:
        raise DataLoss(losses)
    if losses:
        _log.warning("Continuing after possible data loss: %s. failOnDataLoss=false", "; ".join(losses))


def ranges_between(
    start: Offsets, end: Offsets, earliest_of_new: Offsets
) -> tuple[list[OffsetRange], list[str]]:
    """Return the ranges between two sets of offsets, and descriptions of lost records.

    A partition that is only in `end` is new, and is read from its earliest offset, which should be 0.
    """
    losses = [f"{tp} no longer exists" for tp in sorted(start.keys() - end.keys())]
    ranges: list[OffsetRange] = []
    for tp in sorted(end):
        first = start.get(tp)
        if first is None:
            first = earliest_of_new.get(tp)
            if first is None:
                losses.append(f"{tp} no longer exists")
                continue
            if first != 0:
                losses.append(f"{tp} is new but starts at offset {first} instead of 0")
        if end[tp] < first:
            losses.append(f"{tp} now ends at offset {end[tp]}, but was read up to offset {first} before")
        elif end[tp] > first:
            ranges.append(OffsetRange(topic=tp.topic, partition=tp.partition, start=first, end=end[tp]))
    return ranges, losses


def limit_records(start: Offsets, latest: Offsets, records_max: int) -> dict[TopicPartition, int]:
    """Return an end at most `records_max` records away, shared among partitions in proportion to their backlog.

    Every partition with a backlog gets at least one record, so that a large partition does not starve others; if there
    are more such partitions than `records_max`, the largest backlogs come first.
    `start` must have every partition of `latest`.
    """
    waiting = {tp: latest[tp] - start[tp] for tp in latest if latest[tp] > start[tp]}
    total = sum(waiting.values())
    if total <= records_max:
        return dict(latest)
    by_size = sorted(waiting, key=lambda tp: (-waiting[tp], tp))
    shares = dict.fromkeys(by_size[:records_max], 1)
    left = records_max - len(shares)
    if left:
        rest = total - len(shares)
        parts = {tp: divmod(left * (waiting[tp] - 1), rest) for tp in by_size}
        for tp, (whole, _) in parts.items():
            shares[tp] += whole
        left = records_max - sum(shares.values())
        for tp in sorted(by_size, key=lambda tp: (-parts[tp][1], tp))[:left]:
            shares[tp] += 1
    return {tp: start[tp] + shares.get(tp, 0) if tp in waiting else latest[tp] for tp in latest}


def split(
    ranges: Iterable[OffsetRange], *, partitions_min: int | None = None, records_max: int | None = None
) -> list[OffsetRange]:
    """Split ranges so that none has more than `records_max` offsets and there are about `partitions_min`."""
    parts = [
        part
        for each in ranges
        if each.size
        for part in _cut(each, 1 if records_max is None else -(-each.size // records_max))
    ]
    if partitions_min is None or len(parts) >= partitions_min:
        return parts
    total = sum(part.size for part in parts)
    return [
        piece for part in parts for piece in _cut(part, max(1, round(part.size / total * partitions_min)))
    ]


def _cut(whole: OffsetRange, pieces: int) -> list[OffsetRange]:
    """Cut into pieces of nearly the same size, at most one for each record."""
    pieces = min(pieces, whole.size)
    bounds = [whole.start + whole.size * number // pieces for number in range(pieces + 1)]
    return [msgspec.structs.replace(whole, start=start, end=end) for start, end in itertools.pairwise(bounds)]


def share_tasks(
    ranges: Sequence[OffsetRange],
    *,
    cores: int,
    partitions_min: int | None = None,
    records_max: int | None = None,
) -> list[tuple[OffsetRange, ...]]:
    """Let small ranges share tasks: at least a task for each core, and for each `TASK_RECORDS` records.

    Like `split`, it keeps to `partitions_min` and `records_max`. Tasks get about the same number of records.
    """
    total = sum(each.size for each in ranges)
    count = max(cores, -(-total // TASK_RECORDS), partitions_min or 0)
    if len(ranges) <= count:
        return [(each,) for each in ranges]
    tasks: list[list[OffsetRange]] = [[] for _ in range(count)]
    by_size = [(0, number) for number in range(count)]
    for each in sorted(ranges, key=lambda each: -each.size):
        size, number = by_size[0]
        if records_max is not None and size and size + each.size > records_max:
            tasks.append([each])
            heapq.heappush(by_size, (each.size, len(tasks) - 1))
        else:
            tasks[number].append(each)
            heapq.heapreplace(by_size, (size + each.size, number))
    return [tuple(task) for task in tasks]
