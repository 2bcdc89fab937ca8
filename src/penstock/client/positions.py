"""Start positions in one grammar for the command, HTTP and the console, and their offsets. Pure."""

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Final, TypeVar

import msgspec

K = TypeVar("K")

# Kafka's own words are accepted too.
START: Final = ("start", "earliest")
END: Final = ("end", "latest")
# Thirteen digits are a time since 2001: no partition has such offsets. `offset:N` is always an offset.
_TIMESTAMP_MS_MIN: Final = 10**12

_INT64_MAX: Final = 2**63 - 1
_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO = re.compile(r"-(\d+)([smhd])")


class Start(msgspec.Struct, frozen=True):
    pass


class End(msgspec.Struct, frozen=True):
    pass


class Offset(msgspec.Struct, frozen=True):
    offset: int


class Last(msgspec.Struct, frozen=True):
    """The last `count` records of each partition."""

    count: int


class Time(msgspec.Struct, frozen=True):
    """The first record stamped at this time or later."""

    timestamp_ms: int


Position = Start | End | Offset | Last | Time


class InvalidPosition(ValueError):
    """The text is not a position; the message lists the valid forms."""


def parse_position(text: str, now_ms: int, zone: tzinfo | None = None) -> Position:
    """Raises `InvalidPosition`. An ISO time without a zone is in `zone`, or in local time."""
    if text in START:
        return Start()
    if text in END:
        return End()
    if is_number(text.removeprefix("offset:")):
        number = int(text.removeprefix("offset:"))
        return Time(number) if number >= _TIMESTAMP_MS_MIN and text.isdecimal() else Offset(number)
    if text[:1] == "-" and is_number(text[1:]):
        return Last(int(text[1:]))
    if (ago := _AGO.fullmatch(text)) is not None:
        return Time(max(0, now_ms - int(ago[1]) * _UNITS_MS[ago[2]]))
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        return Time(max(0, round(moment.timestamp() * 1000)))
    except (ValueError, OverflowError):
        raise InvalidPosition(
            f"{text} is none of start, end, an offset, -N (the last N), -15m (15 minutes ago), "
            "a time like 2026-05-04T12:00:00Z, milliseconds since 1970"
        ) from None


def is_number(text: str) -> bool:
    """Whether it is an int64 in decimal digits, without a sign."""
    return text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= _INT64_MAX


def first_offsets(
    position: Position, starts: Mapping[K, int], ends: Mapping[K, int], at_time: Mapping[K, int]
) -> dict[K, int]:
    """The offset to begin at in each partition, within its bounds. `at_time` is only used for a `Time`; -1 in it means
    that no record is that recent.
    """
    found: dict[K, int] = {}
    for partition, end in ends.items():
        start = starts[partition]
        if isinstance(position, Start):
            wanted = start
        elif isinstance(position, End):
            wanted = end
        elif isinstance(position, Offset):
            wanted = position.offset
        elif isinstance(position, Last):
            wanted = end - position.count
        else:
            wanted = at_time[partition] if at_time[partition] >= 0 else end
        found[partition] = min(max(wanted, start), end)
    return found
