"""Protobuf messages as rows, and the reasons of those that are none."""

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.batch import NULL_VALUE, BatchDecoder, DecoderError
from penstock.spark.decode.protobuf import ProtobufRowDecoder, find_message
from penstock.spark.decode.settings import ProtobufDecoder


def field(
    name: str, number: int, kind: Any, *, repeated: bool = False, type_name: str | None = None
) -> Field:
    label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
    return Field(name=name, number=number, type=kind, label=label, type_name=type_name)


def descriptors() -> bytes:
    """What `protoc` makes of a small file: package shop, messages Order, Other and Loop."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="UNKNOWN", number=0)
    kind.value.add(name="GIFT", number=1)
    order = file.message_type.add(name="Order")
    line = order.nested_type.add(name="Line")
    line.field.append(field("sku", 1, Field.TYPE_STRING))
    entry = order.nested_type.add(name="MoreEntry")
    entry.options.map_entry = True
    entry.field.extend([field("key", 1, Field.TYPE_STRING), field("value", 2, Field.TYPE_INT32)])
    order.field.extend(
        [
            field("id", 1, Field.TYPE_STRING),
            field("total", 2, Field.TYPE_UINT64),
            field("kind", 3, Field.TYPE_ENUM, type_name=".shop.Kind"),
            field("at", 4, Field.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp"),
            field("lines", 5, Field.TYPE_MESSAGE, repeated=True, type_name=".shop.Order.Line"),
            field("more", 6, Field.TYPE_MESSAGE, repeated=True, type_name=".shop.Order.MoreEntry"),
            field("data", 7, Field.TYPE_BYTES),
            field("first", 8, Field.TYPE_MESSAGE, type_name=".shop.Order.Line"),
            field("note", 9, Field.TYPE_STRING),
        ]
    )
    order.oneof_decl.add(name="_note")
    order.field[-1].proto3_optional = True
    order.field[-1].oneof_index = 0
    file.message_type.add(name="Other").field.append(field("x", 1, Field.TYPE_INT32))
    loop = file.message_type.add(name="Loop")
    loop.field.append(field("loop", 1, Field.TYPE_MESSAGE, type_name=".shop.Loop"))
    timestamp = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(timestamp)
    made: bytes = descriptor_pb2.FileDescriptorSet(file=[timestamp, file]).SerializeToString()
    return made


DESCRIPTORS = descriptors()


def order(**fields: Any) -> bytes:
    made: bytes = message_factory.GetMessageClass(find_message(DESCRIPTORS, "shop.Order"))(
        **fields
    ).SerializeToString()
    return made


def protobuf_rows(descriptors: bytes, message: str, *, framed: bool = True) -> ProtobufRowDecoder:
    return ProtobufRowDecoder(descriptors, ProtobufDecoder(descriptors="", message=message, framed=framed))


def decoded(rows: ProtobufRowDecoder, *values: bytes | None) -> list[Any]:
    columns, errors, _ = BatchDecoder(rows).decode(values)
    lists = [column.to_pylist() for column in columns]
    return [
        error if error is not None else tuple(each[at] for each in lists) for at, error in enumerate(errors)
    ]


FRAME = b"\x00\x00\x00\x00\x07"
FULL = order(
    id="a",
    total=2**64 - 1,
    kind=1,
    at={"seconds": 1, "nanos": 500_000_000},
    lines=[{"sku": "x"}, {"sku": "y"}],
    more={"k": 1},
    data=b"\xff",
    first={"sku": "z"},
    note="",
)


def test_a_message_becomes_columns() -> None:
    rows = pickle.loads(pickle.dumps(protobuf_rows(DESCRIPTORS, "shop.Order")))
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.UTC)
    assert decoded(rows, FRAME + b"\x00" + FULL) == [
        ("a", Decimal(2**64 - 1), "GIFT", moment, [{"sku": "x"}, {"sku": "y"}], [("k", 1)], b"\xff", {"sku": "z"}, "")
    ]  # fmt: skip
    assert rows.schema["total"].dataType == T.DecimalType(20, 0)


def test_what_was_not_set_is_null_or_its_default() -> None:
    rows = protobuf_rows(DESCRIPTORS, "shop.Order", framed=False)
    assert decoded(rows, b"") == [("", Decimal(0), "UNKNOWN", None, [], [], b"", None, None)]


def test_an_enum_number_without_a_name_is_kept() -> None:
    assert decoded(protobuf_rows(DESCRIPTORS, "shop.Order", framed=False), order(kind=9))[0][2] == "9"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, NULL_VALUE),
        (b"", "empty value"),
        (b"\x05" + FULL, "unknown magic byte 5: expected 0, as Confluent's serializers write it"),
        (FRAME, "truncated: the message indexes do not end"),
        (FRAME + b"\x00" + FULL[:-3], f"not a shop.Order: a truncated or damaged body of {len(FULL) - 3} bytes"),
        (FRAME + b"\x00\x0a\x01\xff", "not a shop.Order: a truncated or damaged body of 3 bytes"),
        (FRAME + b"\x02\x02", "not a shop.Order: its message indexes name shop.Other"),
        (FRAME + b"\x04\x00\x00", "not a shop.Order: its message indexes name shop.Order.Line"),
        (FRAME + b"\x02\x12", "not a shop.Order: its message indexes are [9]"),
        (FRAME + b"\x00\x22\x0a\x08" + b"\x80" * 8 + b"\x40", "a timestamp is out of range"),
    ],
)  # fmt: skip
def test_a_reject_says_why(value: bytes | None, expected: str) -> None:
    assert decoded(protobuf_rows(DESCRIPTORS, "shop.Order"), value) == [expected]


def test_a_nested_message_is_found_by_its_indexes() -> None:
    rows = protobuf_rows(DESCRIPTORS, "shop.Order.Line")
    assert decoded(rows, FRAME + b"\x04\x00\x00\x0a\x01x") == [("x",)]


def test_settings_that_cannot_work_are_refused_at_once() -> None:
    with pytest.raises(DecoderError, match=r"no message shop\.Ordre; there are .*shop\.Order"):
        protobuf_rows(DESCRIPTORS, "shop.Ordre")
    with pytest.raises(DecoderError, match="not a descriptor set"):
        protobuf_rows(b"\xff\xff", "shop.Order")
    with pytest.raises(DecoderError, match=r"loop: shop\.Loop is recursive"):
        protobuf_rows(DESCRIPTORS, "shop.Loop")
