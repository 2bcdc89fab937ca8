"""A point in time as the pure parts of a coordinator are told it."""

import msgspec

from penstock.observability.clock import Clock


class Moment(msgspec.Struct, frozen=True, gc=False):
    """`monotonic_ms` measures deadlines and never jumps; `wall_ms` goes into records."""

    monotonic_ms: float
    wall_ms: int


def moment_of(clock: Clock) -> Moment:
    return Moment(clock.monotonic_ms(), clock.now_ms())
