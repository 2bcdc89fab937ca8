"""Sensors report their temperature; some overheat for a while, some reports come late, a few make no sense."""

import datetime as dt
import math
import random
from collections.abc import Iterator

from examples.messages import Message

TOPICS = {"readings": 3}
START = dt.datetime(2026, 3, 1, 6, 0, tzinfo=dt.UTC)
LATE_S = 3600
SENSORS = 20


def messages(count: int = 1_000_000, sensors: int = SENSORS, seed: int = 4) -> Iterator[Message]:
    """`count` readings over half an hour, whatever their number; one in 10,000 an hour late, one in 50,000 nonsense."""
    rng = random.Random(seed)
    names = [f"sensor-{number:02d}" for number in range(sensors)]
    keys = [name.encode() for name in names]
    seconds = 1800 / max(1, count)
    for number in range(count):
        which = number % sensors
        elapsed_s = number * seconds
        is_late = number % 10_000 == 7_777
        at = START + dt.timedelta(seconds=elapsed_s - (LATE_S if is_late else 0))
        celsius: float = _temperature(which, elapsed_s, rng)
        if number % 50_000 == 33_333:
            celsius = 9999.0
        yield Message(
            "readings",
            b'{"sensor":"%b","at":"%b","celsius":%.2f}' % (keys[which], at.isoformat().encode(), celsius),
            keys[which],
        )
    yield Message("readings", b'{"sensor":"sensor-00","celsius":"warm"}', keys[0])


def _temperature(which: int, elapsed_s: float, rng: random.Random) -> float:
    base = 45 + which + 6 * math.sin(elapsed_s / 300 + which)
    overheats = which % 7 == 3 and 600 < elapsed_s < 900
    return base + rng.gauss(0, 1.5) + (35 if overheats else 0)
