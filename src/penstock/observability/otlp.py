"""Metrics as OpenTelemetry encodes them, as far as Kafka's clients use it: what PushTelemetry carries (KIP-714).

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
from collections.abc import Iterator
from typing import Literal

import msgspec

_DOUBLE = struct.Struct("<d")
_SIGNED = struct.Struct("<q")
_VARINT_BYTES_MAX = 10
_DELTA = 1
_FIELDS_MAX = 200_000

Value = int | memoryview
"""A number for wire types 0, 1 and 5 (fixed ones as their bytes), else what a length stands before."""


class NotOtlp(ValueError):
    """The bytes are not metrics."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a metric. A delta is to be added to what came before."""

    name: str
    kind: Literal["gauge", "counter"]
    attributes: tuple[tuple[str, str], ...]
    value: float
    is_delta: bool


def parse(data: bytes) -> Iterator[Point]:
    """All points of gauges and sums, as they are asked for; of histograms their sums and counts, as two counters."""
    parser = _Parser()
    for resource in parser.messages(memoryview(data), 1):
        for scope in parser.messages(resource, 2):
            for metric in parser.messages(scope, 2):
                yield from parser.points(metric)


class _Parser:
    """A megabyte can have half a million fields, each of which is looked at several times: there is a limit."""

    __slots__ = ("_fields_left",)

    def __init__(self) -> None:
        self._fields_left = _FIELDS_MAX

    def points(self, metric: memoryview) -> Iterator[Point]:
        name = ""
        for number, value in self._fields(metric):
            if number == 1:
                name = _text(value)
        for gauge in self.messages(metric, 5):
            for point in self.messages(gauge, 1):
                yield self._number_point(name, point, "gauge", is_delta=False)
        for total in self.messages(metric, 7):
            is_delta = self._temporality(total) == _DELTA
            for point in self.messages(total, 1):
                yield self._number_point(name, point, "counter", is_delta=is_delta)
        for histogram in self.messages(metric, 9):
            is_delta = self._temporality(histogram) == _DELTA
            for point in self.messages(histogram, 1):
                yield from self._histogram_points(name, point, is_delta=is_delta)

    def _number_point(
        self, name: str, point: memoryview, kind: Literal["gauge", "counter"], *, is_delta: bool
    ) -> Point:
        value = 0.0
        for number, field in self._fields(point):
            if number == 4:
                value = _DOUBLE.unpack(_fixed(field))[0]
            elif number == 6:
                value = float(_SIGNED.unpack(_fixed(field))[0])
        return Point(
            name=name, kind=kind, attributes=self._attributes(point, 7), value=value, is_delta=is_delta
        )

    def _histogram_points(self, name: str, point: memoryview, *, is_delta: bool) -> Iterator[Point]:
        attributes = self._attributes(point, 9)
        for number, field in self._fields(point):
            if number == 4:
                count = float(_SIGNED.unpack(_fixed(field))[0])
                yield Point(
                    name=f"{name}.count",
                    kind="counter",
                    attributes=attributes,
                    value=count,
                    is_delta=is_delta,
                )
            elif number == 5:
                total = _DOUBLE.unpack(_fixed(field))[0]
                yield Point(
                    name=f"{name}.sum", kind="counter", attributes=attributes, value=total, is_delta=is_delta
                )

    def _temporality(self, message: memoryview) -> int:
        return next((v for number, v in self._fields(message) if number == 2 and isinstance(v, int)), 0)

    def _attributes(self, point: memoryview, field_number: int) -> tuple[tuple[str, str], ...]:
        found = []
        for pair in self.messages(point, field_number):
            key = value = ""
            for number, field in self._fields(pair):
                if number == 1:
                    key = _text(field)
                elif number == 2:
                    value = self._any_value(field)
            found.append((key, value))
        return tuple(sorted(found))

    def _any_value(self, field: Value) -> str:
        if isinstance(field, int):
            raise NotOtlp("an attribute's value is not a message")
        for number, value in self._fields(field):
            if number == 1:
                return _text(value)
            if number in (2, 3) and isinstance(value, int):
                return str(value)
            if number == 4:
                return str(_DOUBLE.unpack(_fixed(value))[0])
        return ""

    def messages(self, message: memoryview, wanted: int) -> Iterator[memoryview]:
        for number, value in self._fields(message):
            if number == wanted:
                if isinstance(value, int):
                    raise NotOtlp(f"field {number} is not a message")
                yield value

    def _fields(self, message: memoryview) -> Iterator[tuple[int, Value]]:
        position = 0
        while position < len(message):
            self._fields_left -= 1
            if self._fields_left < 0:
                raise NotOtlp(f"it has more than {_FIELDS_MAX} fields")
            tag, position = _varint(message, position)
            wire_type = tag & 7
            if wire_type == 0:
                number, position = _varint(message, position)
                yield tag >> 3, number
                continue
            if wire_type == 2:
                size, position = _varint(message, position)
            elif wire_type in (1, 5):
                size = 8 if wire_type == 1 else 4
            else:
                raise NotOtlp(f"unknown wire type {wire_type}")
            if size > len(message) - position:
                raise NotOtlp(f"a field of {size} bytes where {len(message) - position} are left")
            yield tag >> 3, message[position : position + size]
            position += size


# -- protobuf


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
