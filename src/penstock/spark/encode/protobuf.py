"""Encodes Protobuf messages with a descriptor set, or with a schema of a registry: the mirror of `decode.protobuf`.

Columns go to the fields with their names. A null leaves its field unset; a field without a column is unset too.
"""

import base64
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyarrow import types

from penstock.spark.decode import schema_registry
from penstock.spark.decode.batch import DecoderError
from penstock.spark.decode.framing import frame_header, indexes_header
from penstock.spark.decode.protobuf import TIMESTAMP, find_message, is_map, message_path
from penstock.spark.decode.schema_registry import PROTOBUF, Reference, RegisteredSchema
from penstock.spark.encode.batch import (
    EncoderError,
    Unencodable,
    ValueEncoder,
    joined,
    refuse_null,
    refuse_value,
)
from penstock.spark.encode.schemas import (
    Place,
    newest_schema,
    read_schema_file,
    registered_version,
    schema_id,
)
from penstock.spark.encode.settings import ProtobufEncoder
from penstock.spark.text import one_line

_REASON_LENGTH_MAX = 200
_WELL_KNOWN = "google/protobuf/"  # files that every registry has

Set = Callable[[Any, Any], None]  # sets a field of a message to a value that is not null

_INTEGER = (types.is_signed_integer,)
_ACCEPTED: Mapping[int, tuple[Callable[[pa.DataType], bool], ...]] = {
    FieldDescriptor.CPPTYPE_INT32: _INTEGER,
    FieldDescriptor.CPPTYPE_INT64: _INTEGER,
    FieldDescriptor.CPPTYPE_UINT32: _INTEGER,
    FieldDescriptor.CPPTYPE_UINT64: (*_INTEGER, types.is_decimal),
    FieldDescriptor.CPPTYPE_DOUBLE: (types.is_float64, types.is_float32),
    FieldDescriptor.CPPTYPE_FLOAT: (types.is_float32,),
    FieldDescriptor.CPPTYPE_BOOL: (types.is_boolean,),
    FieldDescriptor.CPPTYPE_ENUM: (types.is_string, types.is_large_string),
    FieldDescriptor.CPPTYPE_STRING: (types.is_string, types.is_large_string),
}


def value_encoder(settings: ProtobufEncoder, kind: pa.DataType, place: Place) -> ValueEncoder | None:
    """Return the encoder of a column; None: its schema is in a registry that may not be asked now."""
    if settings.descriptors is not None:
        descriptors = read_schema_file(settings.descriptors, place)
        known_id = 0
    else:
        found = newest_schema(settings, place, serialized=True)
        if found is None:
            return None
        descriptors, known_id = _descriptor_set(found), found.schema_id
    try:
        message = find_message(descriptors, settings.message or _first_message(descriptors))
    except DecoderError as error:
        raise EncoderError(str(error)) from None
    encoder = ProtobufValueEncoder(descriptors, message.full_name, kind)
    if settings.framed or settings.register:
        schema = RegisteredSchema(text="", kind=PROTOBUF, schema_id=known_id)
        if not known_id and settings.registry_url is not None:
            schema = _to_register(settings, place, descriptors, message.file.name)
        known_id = schema_id(settings, place, schema, message.full_name)
    if settings.framed:
        encoder.header = frame_header(known_id) + indexes_header(message_path(message))
    return encoder


def _files(descriptors: bytes) -> list[descriptor_pb2.FileDescriptorProto]:
    return list(descriptor_pb2.FileDescriptorSet.FromString(descriptors).file)


def _first_message(descriptors: bytes) -> str:
    last = _files(descriptors)[-1]  # the others are its imports
    if not last.message_type:
        raise EncoderError("protobuf: the file has no message")
    return f"{last.package}.{last.message_type[0].name}".lstrip(".")


def _descriptor_set(schema: RegisteredSchema) -> bytes:
    """Return the files of a schema; registries do not send those that Protobuf itself has."""
    made = descriptor_pb2.FileDescriptorSet()
    known: set[str] = set()
    names = (*schema.reference_names, "")
    for name, text in zip(names, (*schema.references, schema.text), strict=True):
        file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text))
        file.name = name or file.name or "default"
        for imported in file.dependency:
            if imported.startswith(_WELL_KNOWN) and imported not in known:
                known.add(imported)
                made.file.append(_well_known_file(imported))
        made.file.append(file)
    serialized: bytes = made.SerializeToString()
    return serialized


def _well_known_file(name: str) -> descriptor_pb2.FileDescriptorProto:
    module = importlib.import_module(f"{name.removesuffix('.proto').replace('/', '.')}_pb2")
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return file


def _to_register(
    settings: ProtobufEncoder, place: Place, descriptors: bytes, file_name: str
) -> RegisteredSchema:
    """Return the schema of a file. Files that it imports are subjects of their own, under their names."""
    by_name = {file.name: file for file in _files(descriptors)}
    file = by_name[file_name]
    names = []
    for imported in file.dependency:
        if not imported.startswith(_WELL_KNOWN):
            inner = _to_register(settings, place, descriptors, imported)
            version = registered_version(settings, place, inner, imported)
            names.append(Reference(name=imported, subject=imported, version=version))
    text = base64.b64encode(file.SerializeToString()).decode()
    return RegisteredSchema(text=text, kind=schema_registry.PROTOBUF, names=tuple(names))


class ProtobufValueEncoder:
    """`descriptors` are the bytes of a FileDescriptorSet."""

    def __init__(self, descriptors: bytes, message: str, kind: pa.DataType) -> None:
        self._descriptors = descriptors
        self._message = message
        self._kind = kind
        self.header = b""
        self._fit()  # on the driver, so that errors show there

    def _fit(self) -> tuple[Any, Set]:
        if not isinstance(self._kind, pa.StructType):
            raise EncoderError(f"the value: {self._kind} is no message: use a struct")
        descriptor = find_message(self._descriptors, self._message)
        return message_factory.GetMessageClass(descriptor), _fit_message(self._kind, descriptor, "", ())

    def writer(self) -> Callable[[Any], bytes]:
        make, fill = self._fit()
        header = self.header

        def write(value: Any) -> bytes:
            message = make()
            fill(message, value)
            if not message.IsInitialized():
                missing = ", ".join(message.FindInitializationErrors())
                raise Unencodable(f"required, but null: {missing}")
            body: bytes = message.SerializeToString()
            return header + body

        return write


def _fit_message(kind: pa.StructType, message: Descriptor, path: str, outer: tuple[str, ...]) -> Set:
    if message.full_name in outer:
        raise EncoderError(
            f"protobuf: {path}: {message.full_name} is recursive, which Spark's columns cannot be"
        )
    columns = {field.name for field in kind}
    setters = []
    for column in kind:
        inner = joined(path, column.name)
        field = message.fields_by_name.get(column.name)
        if field is None:
            raise EncoderError(
                f"column {inner} is not in the message {message.full_name}: drop it, or rename it"
            )
        setters.append((column.name, _fit_field(column.type, field, inner, (*outer, message.full_name))))
    for field in message.fields:
        if field.is_required and field.name not in columns:
            raise EncoderError(
                f"column {joined(path, field.name)} is missing: {message.full_name} requires it"
            )

    def fill(made: Any, value: dict[str, Any]) -> None:
        made.SetInParent()
        for name, set_field in setters:
            each = value[name]
            if each is not None:
                set_field(made, each)

    return fill


def _fit_field(kind: pa.DataType, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Set:
    name = field.name
    if is_map(field):
        if not isinstance(kind, pa.MapType):
            raise _misfit(kind, field, path)
        return _fit_map(kind, field, path, outer)
    if field.is_repeated:
        if not isinstance(kind, pa.ListType | pa.LargeListType):
            raise _misfit(kind, field, path)
        if field.message_type is not None:
            fill = _fit_single_message(kind.value_type, field, f"{path}[]", outer)

            def add_messages(made: Any, value: list[Any]) -> None:
                repeated = getattr(made, name)
                for each in value:
                    if each is None:
                        raise refuse_null(f"{path}[]")
                    fill(repeated.add(), each)

            return add_messages
        convert = _fit_scalar(kind.value_type, field, f"{path}[]")

        def add_values(made: Any, value: list[Any]) -> None:
            repeated = getattr(made, name)
            for each in value:
                if each is None:
                    raise refuse_null(f"{path}[]")
                _checked(repeated.append, convert(each), path)

        return add_values
    if field.message_type is not None:
        fill_one = _fit_single_message(kind, field, path, outer)
        return lambda made, value: fill_one(getattr(made, name), value)
    convert_one = _fit_scalar(kind, field, path)
    return lambda made, value: _checked(lambda each: setattr(made, name, each), convert_one(value), path)


def _fit_map(
    kind: "pa.MapType[Any, Any, Any]", field: FieldDescriptor, path: str, outer: tuple[str, ...]
) -> Set:
    name = field.name
    key, item = (field.message_type.fields_by_name[each] for each in ("key", "value"))
    convert_key = _fit_scalar(kind.key_type, key, path)
    inner = f"{path}{{}}"
    if item.message_type is not None:
        fill = _fit_single_message(kind.item_type, item, inner, outer)

        def put(target: Any, key: Any, value: Any) -> None:
            fill(target[key], value)

    else:
        convert = _fit_scalar(kind.item_type, item, inner)

        def put(target: Any, key: Any, value: Any) -> None:
            target[key] = convert(value)

    def put_all(made: Any, value: dict[Any, Any]) -> None:
        target = getattr(made, name)
        for each, content in value.items():
            if content is None:
                raise refuse_null(inner)
            _checked(lambda pair: put(target, *pair), (convert_key(each), content), inner)

    return put_all


def _fit_single_message(kind: pa.DataType, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Set:
    if field.message_type.full_name == TIMESTAMP:
        if not isinstance(kind, pa.TimestampType) or kind.tz is None:
            raise _misfit(kind, field, path)
        return lambda made, value: _checked(made.FromDatetime, value, path)
    if not isinstance(kind, pa.StructType):
        raise _misfit(kind, field, path)
    return _fit_message(kind, field.message_type, path, outer)


def _fit_scalar(kind: pa.DataType, field: FieldDescriptor, path: str) -> Callable[[Any], Any]:
    if field.type == FieldDescriptor.TYPE_BYTES:
        if not (types.is_binary(kind) or types.is_large_binary(kind)):
            raise _misfit(kind, field, path)
    elif not any(matches(kind) for matches in _ACCEPTED[field.cpp_type]):
        raise _misfit(kind, field, path)
    if field.enum_type is not None:
        numbers = {name: value.number for name, value in field.enum_type.values_by_name.items()}

        def number_of(value: str) -> int:
            if value not in numbers:
                raise refuse_value(path, value, f"is none of {', '.join(numbers)}")
            number: int = numbers[value]
            return number

        return number_of
    return int if isinstance(kind, pa.Decimal128Type) else lambda value: value


def _checked(set_value: Callable[[Any], Any], value: Any, path: str) -> None:
    try:
        set_value(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise refuse_value(path, value, f"is refused: {one_line(str(error), _REASON_LENGTH_MAX)}") from None


def _misfit(kind: pa.DataType, field: FieldDescriptor, path: str) -> EncoderError:
    wanted = field.message_type.full_name if field.message_type is not None else _TYPE_NAMES[field.type]
    repeated = "a map" if is_map(field) else f"repeated {wanted}" if field.is_repeated else wanted
    return EncoderError(f"column {path}: {kind} does not fit {repeated}: cast it")


_TYPE_NAMES: Mapping[int, str] = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()
}
