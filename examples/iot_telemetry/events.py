"""Sensors report their temperature; some overheat for a while, some reports come late, a few make no sense."""

import dataclasses
import datetime as dt
import math
import random
from collections.abc import Iterable, Iterator

from examples.messages import Message

TOPICS = {"readings": 3}
START = dt.datetime(2026, 3, 1, 6, 0, tzinfo=dt.UTC)
SPAN_S = 1800
LATE_S = 3600
SENSORS = 20
ALARM_CELSIUS = 85.0
IMPOSSIBLE_CELSIUS = 9999.0


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    sensor: str
    at: dt.datetime
    celsius: float
    is_late: bool

    @property
    def is_possible(self) -> bool:
        return self.celsius != IMPOSSIBLE_CELSIUS


def readings(
    count: int = 1_000_000,
    *,
    sensors: int = SENSORS,
    late_every: int = 9_999,
    nonsense_every: int = 49_999,
    seed: int = 4,
) -> Iterator[Reading]:
    """`count` readings over half an hour, whatever their number; a few make no sense, and a few are an hour late.

    Spark drops what is late by the watermark that the batch before had, so the late ones are among the last 30 %:
    two batches are before them.
    """
    rng = random.Random(seed)
    names = [f"sensor-{number:02d}" for number in range(sensors)]
    seconds = SPAN_S / max(1, count)
    for number in range(count):
        which = number % sensors
        elapsed_s = number * seconds
        is_late = number > count * 0.7 and number % late_every == 0
        celsius = round(_temperature(which, elapsed_s, rng), 2)
        if number % nonsense_every == nonsense_every // 2:
            celsius = IMPOSSIBLE_CELSIUS
        at = START + dt.timedelta(seconds=elapsed_s - (LATE_S if is_late else 0))
        yield Reading(names[which], at, celsius, is_late)


def messages(count: int = 1_000_000) -> Iterator[Message]:
    """The readings, and one record that is none."""
    return as_messages(readings(count))


def as_messages(told: Iterable[Reading]) -> Iterator[Message]:
    for reading in told:
        sensor = reading.sensor.encode()
        value = b'{"sensor":"%b","at":"%b","celsius":%.2f}' % (
            sensor,
            reading.at.isoformat().encode(),
            reading.celsius,
        )
        yield Message("readings", value, sensor)
    yield Message("readings", b'{"sensor":"sensor-00","celsius":"warm"}', b"sensor-00")


def _temperature(which: int, elapsed_s: float, rng: random.Random) -> float:
    base = 45 + which + 6 * math.sin(elapsed_s / 300 + which)
    overheats = which % 7 == 3 and 600 < elapsed_s < 900
    return base + rng.gauss(0, 1.5) + (35 if overheats else 0)
