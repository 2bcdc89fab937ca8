"""OpenTelemetry's encoding of metrics, as far as Kafka's clients use it in PushTelemetry (KIP-714).

The message is opentelemetry.proto.metrics.v1.MetricsData:

    MetricsData       1 ResourceMetrics*
    ResourceMetrics   2 ScopeMetrics*
    ScopeMetrics      2 Metric*
    Metric            1 name, 5 Gauge, 7 Sum, 9 Histogram
    Gauge             1 NumberDataPoint*
    Sum               1 NumberDataPoint*, 2 temporality (1 delta, 2 cumulative)
    NumberDataPoint   4 double, 6 sfixed64, 7 KeyValue*
    Histogram         1 HistogramDataPoint*, 2 temporality
    HistogramDataPoint 4 fixed64 count, 5 double sum, 9 KeyValue*
    KeyValue          1 key, 2 AnyValue (1 string, 2 bool, 3 int, 4 double)

Five message types do not earn a dependency on protobuf in the broker. Whatever is not well-formed raises `NotOtlp`; no
length is believed before it is compared with the bytes that are there.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from typing import Literal

import msgspec

_DOUBLE = struct.Struct("<d")
_SIGNED = struct.Struct("<q")
_VARINT_BYTES_MAX = 10
_DELTA = 1
_FIELDS_MAX = 200_000

Value = int | memoryview
"""A number for wire types 0, 1 and 5 (fixed ones as their bytes), else the length-delimited bytes."""
Fields = defaultdict[int, list[Value]]


class NotOtlp(ValueError):
    """The bytes are not metrics."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a metric. A delta is added to the previous values."""

    name: str
    kind: Literal["gauge", "counter"]
    attributes: tuple[tuple[str, str], ...]
    value: float
    is_delta: bool


def parse(data: bytes) -> Iterator[Point]:
    """All points of gauges and sums, lazily; histograms give their sums and counts, as two counters."""
    parser = _Parser()
    for resource in parser.messages(parser.fields(memoryview(data)), 1):
        for scope in parser.messages(resource, 2):
            for metric in parser.messages(scope, 2):
                yield from _points(parser, metric)


def _points(parser: "_Parser", metric: Fields) -> Iterator[Point]:
    name = _text(metric[1][-1]) if metric[1] else ""
    kinds: tuple[tuple[int, Literal["gauge", "counter"]], ...] = ((5, "gauge"), (7, "counter"))
    for tag, kind in kinds:
        for data in parser.messages(metric, tag):
            is_delta = kind == "counter" and _is_delta(data)
            for point in parser.messages(data, 1):
                values = [(_DOUBLE, each) for each in point[4]] + [(_SIGNED, each) for each in point[6]]
                value = float(values[-1][0].unpack(_fixed(values[-1][1]))[0]) if values else 0.0
                attributes = _attributes(parser, point, 7)
                yield Point(name=name, kind=kind, attributes=attributes, value=value, is_delta=is_delta)
    for data in parser.messages(metric, 9):
        is_delta = _is_delta(data)
        for point in parser.messages(data, 1):
            attributes = _attributes(parser, point, 9)
            for tag, suffix, form in ((4, "count", _SIGNED), (5, "sum", _DOUBLE)):
                for field in point[tag]:
                    value = float(form.unpack(_fixed(field))[0])
                    yield Point(
                        name=f"{name}.{suffix}",
                        kind="counter",
                        attributes=attributes,
                        value=value,
                        is_delta=is_delta,
                    )


def _is_delta(data: Fields) -> bool:
    return data[2][:1] == [_DELTA]


def _attributes(parser: "_Parser", point: Fields, tag: int) -> tuple[tuple[str, str], ...]:
    found = []
    for pair in parser.messages(point, tag):
        values = [_any_value(each) for each in parser.messages(pair, 2)]
        found.append((_text(pair[1][-1]) if pair[1] else "", values[-1] if values else ""))
    return tuple(sorted(found))


def _any_value(fields: Fields) -> str:
    if fields[1]:
        return _text(fields[1][0])
    for field in fields[2] + fields[3]:
        if isinstance(field, int):
            return str(field)
    return str(_DOUBLE.unpack(_fixed(fields[4][0]))[0]) if fields[4] else ""


# -- protobuf


class _Parser:
    """A megabyte can have half a million fields: there is a limit."""

    __slots__ = ("_fields_left",)

    def __init__(self) -> None:
        self._fields_left = _FIELDS_MAX

    def messages(self, fields: Fields, tag: int) -> Iterator[Fields]:
        for value in fields[tag]:
            if isinstance(value, int):
                raise NotOtlp(f"field {tag} is not a message")
            yield self.fields(value)

    def fields(self, message: memoryview) -> Fields:
        """The values of each field, by its tag."""
        fields: Fields = defaultdict(list)
        position = 0
        while position < len(message):
            self._fields_left -= 1
            if self._fields_left < 0:
                raise NotOtlp(f"it has more than {_FIELDS_MAX} fields")
            tag, position = _varint(message, position)
            wire_type = tag & 7
            if wire_type == 0:
                number, position = _varint(message, position)
                fields[tag >> 3].append(number)
                continue
            if wire_type == 2:
                size, position = _varint(message, position)
            elif wire_type in (1, 5):
                size = 8 if wire_type == 1 else 4
            else:
                raise NotOtlp(f"unknown wire type {wire_type}")
            if size > len(message) - position:
                raise NotOtlp(f"a field of {size} bytes where {len(message) - position} are left")
            fields[tag >> 3].append(message[position : position + size])
            position += size
        return fields


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for index in range(_VARINT_BYTES_MAX):
        if position >= len(message):
            raise NotOtlp("a number is cut off")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position
    raise NotOtlp("a number has no end")


def _text(value: Value) -> str:
    if isinstance(value, int):
        raise NotOtlp("a name is a number")
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        raise NotOtlp("a name is not UTF-8") from None


def _fixed(value: Value) -> memoryview:
    if isinstance(value, int) or len(value) != 8:
        raise NotOtlp("a value is not eight bytes long")
    return value
