"""The offset at which a share group starts to read (`share.auto.offset.reset`)."""

import enum
import re
from typing import NamedTuple

from penstock.config.property import Value

_BY_DURATION = "by_duration:"
_NUMBER = r"([-+]?\d+)"
_DURATION = re.compile(
    rf"([-+]?)P(?:{_NUMBER}D)?(T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}(?:[.,](\d{{0,9}}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)


class ResetKind(enum.Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    BY_DURATION = "by_duration"


class OffsetReset(NamedTuple):
    kind: ResetKind
    duration_ms: int = 0  # how long ago, for BY_DURATION


def parse_offset_reset(text: str) -> OffsetReset:
    """Raises `ValueError`."""
    if not text.startswith(_BY_DURATION):
        kind = ResetKind(text)
        if kind is ResetKind.BY_DURATION:
            raise ValueError("a duration is missing")
        return OffsetReset(kind)
    duration_ms = _duration_ms(text.removeprefix(_BY_DURATION))
    if duration_ms < 0:
        raise ValueError("a negative duration is not allowed")
    return OffsetReset(ResetKind.BY_DURATION, duration_ms)


def check_offset_reset(_name: str, value: Value) -> str | None:
    try:
        parse_offset_reset(str(value))
    except ValueError:
        return "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    return None


def _duration_ms(text: str) -> int:
    """ISO 8601 as Java reads it: every number may have a sign of its own, and so may the whole."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no duration")
    sign, days, time, hours, minutes, seconds, fraction = found.groups()
    if not any((days, hours, minutes, seconds)) or (time is not None and len(time) == 1):
        raise ValueError(f"{text} is no duration")
    whole = 86_400 * int(days or 0) + 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(seconds or 0)
    part_ms = int((fraction or "").ljust(9, "0")[:9]) // 1_000_000
    total_ms = 1000 * whole + (-part_ms if (seconds or "").startswith("-") else part_ms)
    return -total_ms if sign == "-" else total_ms
