"""A point in time, as the pure parts of the group coordinator receive it."""

import msgspec

from penstock.runtime.clock import Clock


class Instant(msgspec.Struct, frozen=True, gc=False):
    """`monotonic_ms` measures deadlines and never jumps; `wall_ms` goes into records."""

    monotonic_ms: float
    wall_ms: int


def read_clock(clock: Clock) -> Instant:
    return Instant(clock.monotonic_ms(), clock.now_ms())
