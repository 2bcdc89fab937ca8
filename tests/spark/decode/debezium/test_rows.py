"""Change events as rows: recorded ones in three forms, and the ones that PostgreSQL does not send."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.decode.batch import BatchDecoder, Rejected
from penstock.spark.decode.debezium.decoder import DebeziumRowDecoder
from penstock.spark.decode.debezium.events import make_form
from penstock.spark.decode.settings import DebeziumDecoder
from tests.spark.decode.debezium.recorded_events import FORMS, Record, events, schemas
from tests.support.registry import running_registry


def schema_of(**columns: pa.DataType) -> Any:
    return pa.schema([pa.field(name, kind) for name, kind in columns.items()])


SOURCE = {
    "connector": "postgresql",
    "name": "shop",
    "db": "d",
    "schema": "public",
    "table": "t",
    "lsn": 7,
    "ts_ms": 1,
}
TWO_COLUMNS = schema_of(id=pa.int32(), v=pa.string())
IDS = schema_of(id=pa.int64(), name=pa.string())
_ODD_ROW = {"field": "after", "type": "struct", "fields": [{"field": "x", "type": "odd"}]}
_ODD_SCHEMA = {"type": "struct", "fields": [{"field": "op", "type": "string"}, _ODD_ROW]}
ODD = json.dumps({"schema": _ODD_SCHEMA, "payload": {"op": "c"}}).encode()


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with running_registry() as stub:
        stub.add_schemas(schemas())
        yield stub.url


def settings(form: str, registry: str, **given: Any) -> DebeziumDecoder:
    return DebeziumDecoder(registry_url=registry if form == "avro" else None, **given)


def table_of(form: str, registry: str, records: list[Record]) -> pa.Schema:
    reader = make_form(registry if form == "avro" else None)
    columns: dict[str, pa.DataType] = {}
    for each in records:
        if each.value is not None and (found := reader.read(each.value).columns) is not None:
            columns |= {name: column.kind for name, column in found.items()}
    return pa.schema(list(columns.items()))


def decoded(
    decoder: DebeziumRowDecoder, records: list[tuple[bytes | None, bytes | None]]
) -> list[dict[str, Any] | str]:
    """Return the rows, and the reasons of those that are none."""
    values, keys = [value for value, _ in records], [key for _, key in records]
    worker = BatchDecoder(decoder)
    columns, errors, _ = worker.decode(values, keys, range(len(records)))
    lists = [column.to_pylist() for column in columns]
    return [
        {name: each[at] for name, each in zip(worker.names, lists, strict=True)} if error is None else error
        for at, error in enumerate(errors)
    ]


def event(op: str = "c", **fields: Any) -> bytes:
    return json.dumps(
        {"op": op, "source": SOURCE, "before": None, "after": None, "ts_ms": 5, **fields}
    ).encode()


def rows_of(*values: bytes | None, **given: Any) -> list[dict[str, Any] | str]:
    return decoded(DebeziumRowDecoder(DebeziumDecoder(**given), IDS), [(each, None) for each in values])


# -- what Debezium sent


@pytest.mark.parametrize("form", ["json_schemas", "avro"])
def test_every_type_of_postgresql_becomes_its_type_of_spark(form: str, registry: str) -> None:
    records = events(form, "everything")
    table = table_of(form, registry, records)
    decoder = DebeziumRowDecoder(settings(form, registry), table)
    first, second, third = decoded(decoder, [(each.value, each.key) for each in records])
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert isinstance(third, dict)
    noon = dt.datetime(2023, 12, 31, 22, 0, 0, 123456, tzinfo=dt.UTC)
    assert {name: value for name, value in first.items() if not name.startswith("_")} == {
        "id": 1, "small": 1, "big": 9007199254740993, "r": 1.5, "d": 2.25, "flag": True,
        "price": Decimal("1234567.891"), "any_number": "3.14159", "t": "text é", "c": "abc", "b": b"\x00\xff",
        "u": "3c4db933-1424-45c5-9f0b-e84a3a04ef7f", "j": '{"a": 1}', "day": dt.date(2024, 2, 29),
        "tm": "12:34:56.123456", "tmz": "10:34:56Z", "ts": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "ts3": dt.datetime(2024, 1, 1, 0, 0, 0, 123000), "tsz": noon, "span": 31_730_400_000_000,
        "numbers": [1, None, 3], "texts": ["a", "b"], "m": "sad",
        "place": {"x": 1.0, "y": 2.0, "wkb": bytes.fromhex("0101000000000000000000f03f0000000000000040"), "srid": None},
        "bits": b"\xaa", "one_bit": True, "address": "10.0.0.1",
    }  # fmt: skip
    assert (second["price"], second["tm"]) == (Decimal("-0.001"), None)
    assert (third["day"], third["tm"], third["price"]) == (dt.date(1900, 1, 1), "23:59:59", None)
    kinds = {field.name: field.dataType.simpleString() for field in decoder.schema.fields}
    assert (kinds["price"], kinds["ts"], kinds["tsz"]) == ("decimal(12,3)", "timestamp_ntz", "timestamp")


@pytest.mark.parametrize("form", FORMS)
def test_operations_have_the_row_after_or_of_a_delete_its_key(form: str, registry: str) -> None:
    table = schema_of(id=pa.int32(), name=pa.string(), email=pa.string(), points=pa.int64())
    records = events(form, "customers")
    rows = decoded(
        DebeziumRowDecoder(settings(form, registry), table), [(each.value, each.key) for each in records]
    )
    assert [(row["_op"], row["id"], row["points"]) for row in rows if isinstance(row, dict)] == [
        ("r", 1, None), ("r", 2, None), ("r", 3, None), ("c", 4, None), ("u", 2, None), ("d", 3, None),
        ("d", 1, None), ("c", 10, None), ("u", 2, 7), ("c", 5, 9),
    ]  # fmt: skip  # and two tombstones, which are no rows
    orders = [str(row["_order"]) for row in rows if isinstance(row, dict)]
    assert orders == sorted(orders)


@pytest.mark.parametrize("form", FORMS)
def test_a_truncate_has_no_row_and_a_place_in_the_order(form: str, registry: str) -> None:
    records = events(form, "full_identity")
    decoder = DebeziumRowDecoder(settings(form, registry, before=True, transaction=True), TWO_COLUMNS)
    rows = [
        each for each in decoded(decoder, [(one.value, one.key) for one in records]) if isinstance(each, dict)
    ]
    truncate, after = rows[-2:]
    assert (truncate["_op"], truncate["id"], after["id"]) == ("t", None, 8)
    assert truncate["_order"] < after["_order"]
    update = next(row for row in rows if row["_op"] == "u")
    assert update["_before"] == {"id": 5, "v": "five"}
    assert update["_transaction"]["total_order"] == 2
    assert update["_source"]["lsn"] > rows[0]["_source"]["lsn"]


@pytest.mark.parametrize("form", FORMS)
def test_transactions_and_heartbeats_are_skipped_or_kept(form: str, registry: str) -> None:
    others = [each for each in events(form) if ".public." not in each.topic]
    records = [(each.value, each.key) for each in others]
    empty = pa.schema([("id", pa.int32())])
    assert decoded(DebeziumRowDecoder(settings(form, registry), empty), records) == []
    kept = decoded(DebeziumRowDecoder(settings(form, registry, other_events="keep"), empty), records)
    kinds = {row["_op"] for row in kept if isinstance(row, dict)}
    assert kinds == {"transaction", "heartbeat"}
    (end,) = [
        json.loads(row["_event"])
        for row in kept
        if isinstance(row, dict) and '"END"' in row["_event"] and '"event_count":2,' in row["_event"]
    ][:1]
    assert end["data_collections"]


# -- what a source may send besides


def test_without_a_schema_the_column_says_what_a_number_means() -> None:
    day, stamp, price = 19782, 1704067200123, "SZYC0w=="
    fields: list[Any] = [
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us"), metadata={"comment": "epoch ms"}),
        pa.field("price", pa.decimal128(12, 3), metadata={"comment": "base64"}),
        pa.field("text", pa.string()),
        pa.field("data", pa.binary()),
    ]
    row = {"day": day, "at": stamp, "price": price, "text": {"a": 1}, "data": "AP8="}
    (found,) = decoded(DebeziumRowDecoder(DebeziumDecoder(), pa.schema(fields)), [(event(after=row), None)])
    assert isinstance(found, dict)
    assert [found[field.name] for field in fields] == [
        dt.date(2024, 2, 29), dt.datetime(2024, 1, 1, 0, 0, 0, 123000), Decimal("1234567.891"), '{"a":1}', b"\x00\xff",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"{", "not JSON of Debezium"),
        (b"[1]", "Expected `object`"),
        (b'{"id": 1}', "not an event of Debezium"),
        (event(after=None), "an event of operation c without the row after it"),
        (event(after={"id": "x"}), "id: 'x' does not fit bigint"),
        (event(after={"id": 1, "name": "__debezium_unavailable_value"}), "name: the source did not send this large"),
        (ODD, "the schema of the event has the unknown type odd"),
    ],
)  # fmt: skip
def test_a_reject_says_why(value: bytes, reason: str) -> None:
    (found,) = rows_of(value)
    assert isinstance(found, str)
    assert reason in found


def test_a_large_value_that_did_not_change_is_taken_from_the_row_before() -> None:
    after = {"id": 1, "name": "__debezium_unavailable_value"}
    (row,) = rows_of(event("u", before={"id": 1, "name": "long"}, after=after))
    assert isinstance(row, dict)
    assert row["name"] == "long"


def test_a_deleted_row_without_an_image_has_the_key_of_its_record() -> None:
    decoder = DebeziumRowDecoder(DebeziumDecoder(), IDS)
    (row,) = decoded(decoder, [(event("d"), b'{"id": 4}')])
    assert isinstance(row, dict)
    assert (row["_op"], row["id"], row["name"]) == ("d", 4, None)
    (reason,) = decoded(decoder, [(event("d"), b"{")])
    assert str(reason).startswith("key: not JSON")


def test_an_avro_event_of_an_unknown_schema_is_a_reject(registry: str) -> None:
    with pytest.raises(Rejected, match="unknown schema id 99"):
        make_form(registry).read(b"\x00\x00\x00\x00\x63")
