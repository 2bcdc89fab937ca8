"""Protobuf that we encode is read by our decoder, by protobuf itself and by Confluent's deserializer."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory

from penstock.spark.decode.batch import BatchDecoder
from penstock.spark.decode.protobuf import ProtobufRowDecoder, find_message
from penstock.spark.decode.settings import ProtobufDecoder
from penstock.spark.encode.batch import EncoderError
from penstock.spark.encode.protobuf import value_encoder
from penstock.spark.encode.schemas import Place
from penstock.spark.encode.settings import ProtobufEncoder
from tests.spark.decode.test_protobuf import DESCRIPTORS
from tests.spark.encode.round_trips import body_of, encoded
from tests.support.registry import RegistryStub, running_registry

LINE = pa.struct([pa.field("sku", pa.string())])
ORDER = pa.struct(
    [
        ("id", pa.string()), ("total", pa.decimal128(20, 0)), ("kind", pa.string()), ("at", pa.timestamp("us", "UTC")),
        ("lines", pa.list_(LINE)), ("more", pa.map_(pa.string(), pa.int32())), ("data", pa.binary()), ("first", LINE),
        ("note", pa.string()),
    ]
)  # fmt: skip
ROW = {
    "id": "a", "total": Decimal(2**64 - 1), "kind": "GIFT", "at": dt.datetime(1960, 1, 1, 0, 0, 0, 7, dt.UTC),
    "lines": [{"sku": "x"}, {"sku": None}], "more": [("k", -3)], "data": b"\x00", "first": {"sku": "f"}, "note": None,
}  # fmt: skip


@pytest.fixture
def registry() -> Iterator[RegistryStub]:
    with running_registry() as stub:
        yield stub


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "shop.desc").write_bytes(DESCRIPTORS)
    return Place(topic="orders", directory=str(tmp_path))


def bare(place: Place, kind: pa.DataType = ORDER, message: str = "shop.Order") -> Any:
    return value_encoder(ProtobufEncoder(descriptors="shop.desc", message=message, framed=False), kind, place)


def test_a_row_is_read_back(place: Place) -> None:
    body = body_of(bare(place), ORDER, ROW)
    settings = ProtobufDecoder(descriptors="", message="shop.Order", framed=False)
    decoder = ProtobufRowDecoder(DESCRIPTORS, settings)
    columns, errors, _ = BatchDecoder(decoder).decode([body])
    assert errors == [None]
    found = {name: each.to_pylist()[0] for name, each in zip(decoder.schema.names, columns, strict=True)}
    assert found == {**ROW, "lines": [{"sku": "x"}, {"sku": ""}]}


def test_a_registered_schema_is_found_by_confluents_deserializer(
    registry: RegistryStub, place: Place
) -> None:
    chosen = ProtobufEncoder(
        registry_url=registry.url, register=True, descriptors="shop.desc", message="shop.Order"
    )
    body = body_of(value_encoder(chosen, ORDER, place), ORDER, ROW)
    message = message_factory.GetMessageClass(find_message(DESCRIPTORS, "shop.Order"))
    read: Any = ProtobufDeserializer(message, {"use.deprecated.format": False})
    found = read(body, SerializationContext("orders", MessageField.VALUE))
    assert (found.id, found.total, found.more["k"], found.lines[0].sku) == ("a", 2**64 - 1, -3, "x")
    assert list(registry.subjects) == ["orders-value"]
    # Without a file the message is that of the registry; Other is the second of its file.
    other = ProtobufEncoder(registry_url=registry.url, message="shop.Other")
    kind = pa.struct([("x", pa.int32())])
    assert (
        body_of(value_encoder(other, kind, place), kind, {"x": 1}) == b"\x00\x00\x00\x00\x01\x02\x02\x08\x01"
    )


def test_a_value_that_does_not_fit_has_a_reason(place: Place) -> None:
    kind = pa.struct([("kind", pa.string()), ("total", pa.int64()), ("lines", pa.list_(LINE))])
    assert encoded(
        bare(place, kind),
        kind,
        {"kind": "NONE", "total": 1, "lines": None},
        {"kind": None, "total": -1, "lines": None},
        {"kind": None, "total": None, "lines": [None]},
        {"kind": None, "total": None, "lines": None},
    ) == [
        "kind: 'NONE' is none of UNKNOWN, GIFT",
        "total: -1 is refused: Value out of range: -1",
        "lines[]: null, but the schema does not allow null",
        b"",
    ]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (pa.struct([("nothing", pa.int32())]), "column nothing is not in the message shop.Order"),
        (pa.struct([("id", pa.int32())]), "column id: int32 does not fit string"),
        (pa.struct([("lines", LINE)]), r"column lines: struct.* does not fit repeated shop.Order.Line"),
        (
            pa.struct([("at", pa.timestamp("us"))]),
            "column at: timestamp.* does not fit google.protobuf.Timestamp",
        ),
        (pa.struct([("more", pa.string())]), "does not fit a map"),
        (pa.string(), "the value: string is no message"),
    ],
)
def test_columns_that_never_fit_are_refused_at_once(place: Place, kind: pa.DataType, reason: str) -> None:
    with pytest.raises(EncoderError, match=reason):
        bare(place, kind)


def test_settings_without_a_schema_are_refused() -> None:
    assert list(ProtobufEncoder(framed=False).problems()) == [
        "a schema cannot be made from the columns for protobuf: name its file"
    ]
    (wrong,) = ProtobufEncoder(descriptors="x", register=True).problems()
    assert "needs a registry" in wrong
