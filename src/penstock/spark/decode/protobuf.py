"""Decodes Protobuf messages with a descriptor set (`protoc --descriptor_set_out --include_imports`).

Enums are their names; an unsigned 64-bit number is DECIMAL(20,0); google.protobuf.Timestamp is TIMESTAMP. A field with
presence is null when it is not set; others have their default, as everywhere in Protobuf.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from penstock.spark.decode.batch import DecoderError, Rejected, spark_schema
from penstock.spark.decode.framing import split_frame, split_indexes
from penstock.spark.decode.settings import ProtobufDecoder

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TIMESTAMP = "google.protobuf.Timestamp"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SCALARS: dict[int, pa.DataType] = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.decimal128(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
    FieldDescriptor.CPPTYPE_STRING: pa.string(),
}


def row_decoder(settings: ProtobufDecoder, directory: str) -> "ProtobufRowDecoder":
    return ProtobufRowDecoder(Path(directory, settings.descriptors).read_bytes(), settings)


class ProtobufRowDecoder:
    """`descriptors` are the bytes of a FileDescriptorSet."""

    reads_records = False

    def __init__(self, descriptors: bytes, settings: ProtobufDecoder) -> None:
        self._descriptors = descriptors
        self._message = settings.message
        self._framed = settings.framed
        self.allows_null = settings.allow_null
        self.columns = pa.schema(_columns(find_message(descriptors, settings.message), "", ()))

    @property
    def schema(self) -> "StructType":
        return spark_schema(self.columns)

    def reader(self) -> Callable[[bytes], Any]:
        wanted = find_message(self._descriptors, self._message)
        make = message_factory.GetMessageClass(wanted)
        wanted_path = message_path(wanted)

        def read(value: bytes) -> Any:
            body = value
            if self._framed:
                path, body = split_indexes(split_frame(value)[1])
                if path != wanted_path:
                    raise Rejected(f"not a {self._message}: {_describe_path(wanted, path)}")
            message = make()
            try:
                message.ParseFromString(body)
            except DecodeError:
                raise Rejected(
                    f"not a {self._message}: a truncated or damaged body of {len(body)} bytes"
                ) from None
            if not message.IsInitialized():
                missing = ", ".join(message.FindInitializationErrors())
                raise Rejected(f"not a {self._message}: required, but missing: {missing}")
            try:
                return _values(message)
            except OverflowError:
                raise Rejected("a timestamp is out of range") from None

        return read

    def column(self, rows: Sequence[Any], index: int) -> list[Any]:
        name = self.columns.names[index]
        return [None if row is None else row[name] for row in rows]


def find_message(descriptors: bytes, name: str) -> Descriptor:
    files = descriptor_pb2.FileDescriptorSet()
    pool = descriptor_pool.DescriptorPool()
    try:
        files.ParseFromString(descriptors)
        for file in files.file:
            pool.Add(file)
        found: Descriptor = pool.FindMessageTypeByName(name)
    except KeyError:
        known = [
            f"{file.package}.{each.name}".lstrip(".") for file in files.file for each in file.message_type
        ]
        raise DecoderError(
            f"protobuf: there is no message {name}; there are {', '.join(known[:10])}"
        ) from None
    except (DecodeError, TypeError) as error:
        raise DecoderError(
            f"protobuf: not a descriptor set ({error}); make one with `protoc --include_imports "
            "--descriptor_set_out FILE`"
        ) from None
    return found


def message_path(message: Descriptor) -> tuple[int, ...]:
    """Return the indexes of a message in its file, level by level, as Confluent's framing has them."""
    outer = message.containing_type
    level = _top_level(message) if outer is None else outer.nested_types
    index = [each.full_name for each in level].index(message.full_name)
    return (index,) if outer is None else (*message_path(outer), index)


def _top_level(message: Descriptor) -> Sequence[Descriptor]:
    return list(message.file.message_types_by_name.values())


def _describe_path(wanted: Descriptor, path: tuple[int, ...]) -> str:
    level = _top_level(wanted)
    name = None
    for index in path:
        if not 0 <= index < len(level):
            return f"its message indexes are {list(path)}"
        name = level[index].full_name
        level = level[index].nested_types
    return f"its message indexes name {name}"


def _columns(message: Descriptor, path: str, outer: tuple[str, ...]) -> "list[pa.Field[Any]]":
    if message.full_name in outer:
        raise DecoderError(f"protobuf: {path}: {message.full_name} is recursive, which columns cannot be")
    inside = (*outer, message.full_name)
    return [
        pa.field(field.name, _field_type(field, f"{path}.{field.name}".lstrip("."), inside))
        for field in message.fields
    ]


def _field_type(field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> pa.DataType:
    if is_map(field):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        item: Any = pa.field("value", _single_type(value, path, outer), nullable=False)
        made: pa.DataType = pa.map_(_single_type(key, path, outer), item)
        return made
    single = _single_type(field, path, outer)
    return pa.list_(pa.field("element", single, nullable=False)) if field.is_repeated else single


def _single_type(field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> pa.DataType:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return pa.binary()
    if field.message_type is None:
        return _SCALARS[field.cpp_type]
    if field.message_type.full_name == TIMESTAMP:
        return pa.timestamp("us", "UTC")
    return pa.struct(_columns(field.message_type, path, outer))


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _values(message: Message) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            row[field.name] = None
            continue
        value = getattr(message, field.name)
        if is_map(field):
            inner = field.message_type.fields_by_name["value"]
            row[field.name] = {key: _single(value[key], inner) for key in value}
        elif field.is_repeated:
            row[field.name] = [_single(each, field) for each in value]
        else:
            row[field.name] = _single(value, field)
    return row


def _single(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == TIMESTAMP:
            return _EPOCH + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return _values(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known is not None else str(value)
    return value
