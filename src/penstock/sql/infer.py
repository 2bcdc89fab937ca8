"""Infers the columns of a topic from a sample: its newest records."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa

from penstock.arrow.decoder import SCHEMA
from penstock.arrow.ranges import OffsetRange
from penstock.arrow.read import read_range
from penstock.client.blocking.client import BlockingClient
from penstock.sql.json_columns import EPOCH_MS, JsonColumn, columns_of
from penstock.sql.snapshot import Snapshot
from penstock.sql.text import is_text

SAMPLE_RECORDS: Final = 1000
_PARTITIONS_MAX: Final = 16
_INT64_MAX: Final = 2**63 - 1
_ENVELOPE: Final = frozenset({"eventId", "eventType", "timestamp", "payload"})
_ENVELOPE_COLUMNS: Final = (
    JsonColumn("eventId", "VARCHAR"),
    JsonColumn("eventType", "VARCHAR"),
    JsonColumn("timestamp", EPOCH_MS),
    JsonColumn("correlationId", "VARCHAR"),
    JsonColumn("sender", "VARCHAR"),
)
_TIMES: Final = (
    ("TIMESTAMP WITH TIME ZONE", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)")),
    ("TIMESTAMP", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?")),
    ("DATE", re.compile(r"\d{4}-\d\d-\d\d")),
)


class Sample(msgspec.Struct, frozen=True):
    keys: list[bytes]
    values: list[bytes]

    @property
    def key_is_text(self) -> bool:
        return is_text(self.keys)

    @property
    def is_text(self) -> bool:
        return bool(self.values) and is_text(self.values)

    @property
    def is_framed(self) -> bool:
        """Whether all values begin as Confluent's serializers write them: a zero byte and the id of a schema."""
        return bool(self.values) and all(len(value) > 4 and value[0] == 0 for value in self.values)


def take_sample(client: BlockingClient, snapshot: Snapshot) -> Sample:
    """Read the newest records of some partitions."""
    filled = [p for p, end in snapshot.ends.items() if end > snapshot.starts[p]][:_PARTITIONS_MAX]
    share = SAMPLE_RECORDS // max(len(filled), 1)
    schema = pa.schema([SCHEMA.field("key"), SCHEMA.field("value")])
    keys: list[bytes] = []
    values: list[bytes] = []
    for partition in filled:
        end = snapshot.ends[partition]
        start = max(snapshot.starts[partition], end - share)
        wanted = OffsetRange(topic=snapshot.topic, partition=partition, start=start, end=end)
        for batch in read_range(client, wanted, schema=schema, fails_on_data_loss=False):
            keys += [key for key in batch.column("key").to_pylist() if key is not None]
            values += [value for value in batch.column("value").to_pylist() if value is not None]
    return Sample(keys, values)


def infer_json(values: Sequence[bytes]) -> tuple[JsonColumn, ...] | None:
    """Return the columns of JSON objects, or None if most values are none."""
    objects: list[dict[str, Any]] = []
    for value in values:
        try:
            found = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(found, dict):
            objects.append(found)
    if not objects or len(objects) * 2 <= len(values):
        return None
    columns = columns_of(_structure(objects))
    if {each.name for each in columns} >= _ENVELOPE:
        return envelope_columns(next(each.type for each in columns if each.name == "payload"))
    return tuple(_refined(each, objects) for each in columns)


def envelope_columns(payload_type: str) -> tuple[JsonColumn, ...]:
    return (*_ENVELOPE_COLUMNS, JsonColumn("payload", payload_type))


def infer_payload(values: Sequence[bytes]) -> str:
    """Return the type of the payload of events; JSON if it is unknown."""
    columns = infer_json(values) or ()
    return next((each.type for each in columns if each.name == "payload"), "JSON")


def _structure(objects: Sequence[dict[str, Any]]) -> Any:
    texts = pa.table({"v": pa.array([json.dumps(each) for each in objects])})
    with duckdb.connect() as connection:
        connection.register("sample", texts)
        found = connection.execute("SELECT json_group_structure(v::JSON) FROM sample").fetchall()
        return json.loads(found[0][0])


def _refined(column: JsonColumn, objects: Sequence[dict[str, Any]]) -> JsonColumn:
    """Recognize times among texts, and integers that are too large."""
    if column.type == "BIGINT":
        is_large = any(isinstance(n := each.get(column.name), int) and n > _INT64_MAX for each in objects)
        return JsonColumn(column.name, "HUGEINT") if is_large else column
    if column.type != "VARCHAR":
        return column
    texts = [text for each in objects if isinstance(text := each.get(column.name), str)]
    for kind, pattern in _TIMES:
        if texts and all(pattern.fullmatch(text) for text in texts):
            return JsonColumn(column.name, kind)
    return column
