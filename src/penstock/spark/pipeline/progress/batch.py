"""Parses Spark's progress of a finished micro-batch. No I/O.

Offsets are `{topic: {partition: next offset}}`. Sources that are not topics have offsets of other shapes; their rows
count, but they have no lag.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

Counts = Mapping[str, Mapping[str, int]]  # observed metric -> column -> count
Offsets = dict[str, dict[int, int]]

# Names of Spark's observed metrics in a query's plan.
EXPECTATION_METRICS = "expectations:"  # and the source or step; a column for each rule
REJECTED_METRICS = "rejected:"  # and the source or step; the rows that become its dead letters
DEAD_LETTER_METRICS = "dead-letters"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    batch_id: int
    at_ms: int
    input_rows: int
    input_rows_per_second: float
    processed_rows_per_second: float
    batch_ms: int
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0  # dropped because the watermark had passed them
    watermark: str | None = None
    consumed: Offsets = {}
    latest: Offsets = {}
    broken: Mapping[str, Mapping[str, int]] = {}  # source or step -> expectation -> rows that broke it
    dead_letters: int = 0

    @property
    def lag_records(self) -> int | None:
        return lag_records(self.consumed, self.latest)


def from_json(text: str) -> Progress:
    """Parse the JSON of a StreamingQueryProgress."""
    given = json.loads(text)
    sources = given.get("sources") or []
    observed = given.get("observedMetrics") or {}
    durations = given.get("durationMs") or {}
    operators = given.get("stateOperators") or []
    return Progress(
        query=given.get("name") or given["id"],
        batch_id=given["batchId"],
        at_ms=int(datetime.fromisoformat(given["timestamp"]).timestamp() * 1000),
        input_rows=given.get("numInputRows") or 0,
        input_rows_per_second=_rate(given.get("inputRowsPerSecond")),
        processed_rows_per_second=_rate(given.get("processedRowsPerSecond")),
        batch_ms=durations.get("triggerExecution") or given.get("batchDuration") or 0,
        state_rows=sum(each.get("numRowsTotal") or 0 for each in operators),
        state_bytes=sum(each.get("memoryUsedBytes") or 0 for each in operators),
        late_rows=sum(each.get("numRowsDroppedByWatermark") or 0 for each in operators),
        watermark=(given.get("eventTime") or {}).get("watermark"),
        consumed=_merged((offsets(each.get("endOffset")) for each in sources), min),
        latest=_merged((offsets(each.get("latestOffset")) for each in sources), max),
        **_counted({name: _counts(row) for name, row in observed.items()}),
    )


def with_counts(progress: Progress, counts: Counts) -> Progress:
    """Add the observed metrics of a batch that was written apart from its query."""
    return msgspec.structs.replace(progress, **_counted(counts))


def _counted(counts: Counts) -> dict[str, Any]:
    return {
        "broken": {
            name.removeprefix(EXPECTATION_METRICS): each
            for name, each in counts.items()
            if name.startswith(EXPECTATION_METRICS)
        },
        "dead_letters": sum(counts.get(DEAD_LETTER_METRICS, {}).values()),
    }


def offsets(given: Any) -> Offsets:
    """Return the offsets of a topic source, as JSON or text; empty for other sources."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {}
    if not isinstance(given, dict):
        return {}
    found: Offsets = {}
    for topic, partitions in given.items():
        if isinstance(partitions, dict) and all(
            key.isdecimal() and isinstance(offset, int) for key, offset in partitions.items()
        ):
            found[topic] = {int(key): offset for key, offset in partitions.items()}
    return found


def _merged(several: Iterable[Offsets], choose: Callable[[int, int], int]) -> Offsets:
    """Of two sources that read one topic, the lagging one counts."""
    found: Offsets = {}
    for each in several:
        for topic, partitions in each.items():
            known = found.setdefault(topic, {})
            for partition, offset in partitions.items():
                known[partition] = choose(known.get(partition, offset), offset)
    return found


def lag_records(consumed: Offsets, latest: Offsets) -> int | None:
    """Return the number of offsets between the consumed ones and the end; an unread partition counts from 0.

    None if the end of a consumed partition is unknown: Spark does not report it in every batch.
    """
    if not latest or any(consumed[topic].keys() - latest.get(topic, {}).keys() for topic in consumed):
        return None
    return sum(
        max(0, end - consumed.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        for partition, end in partitions.items()
    )


def _rate(given: Any) -> float:
    """Parse a rate; Spark writes NaN and Infinity for a batch that took no time."""
    rate = float(given) if isinstance(given, (int, float)) else 0.0
    return rate if 0.0 <= rate < float("inf") else 0.0


def _counts(row: Any) -> dict[str, int]:
    if not isinstance(row, Mapping):
        return {}
    schema = row.get("schema")
    if isinstance(schema, Mapping):  # the form of a Spark Connect server
        row = dict(zip((field["name"] for field in schema["fields"]), row["values"], strict=True))
    return {name: count or 0 for name, count in row.items()}
