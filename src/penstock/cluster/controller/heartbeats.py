"""Which brokers are alive, from the controller's view. Pure: the time is an argument.

    fenced ──caught up with its registration──> active ──wants to stop──> draining ──leads nothing──> may stop
      ^                                           │
      └────── no heartbeat for a session ─────────┘

Only the active controller keeps this state. A new controller starts with none: each broker then has a whole session to
send a heartbeat.
"""

import enum
from collections.abc import Callable

import msgspec


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a heartbeat: the last metadata offset that the broker has applied, and the state that it wants.

    `offline_log_dirs` are its directories that have failed (KIP-858), `cordoned_log_dirs` those that get no new
    replicas (KIP-1066), None if it does not say.
    """

    metadata_offset: int
    wants_fence: bool = False
    wants_shutdown: bool = False
    offline_log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None


class BrokerCondition(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the broker in the metadata."""

    is_fenced: bool
    is_draining: bool
    registered_at: int  # offset of its registration
    has_leaderships: bool


class HeartbeatAction(enum.Enum):
    """The controller's reaction to a heartbeat."""

    STAY = "stay"
    UNFENCE = "unfence"
    FENCE = "fence"
    DRAIN = "drain"
    STOP = "stop"  # it may stop now


def decide_heartbeat(condition: BrokerCondition, wanted: Heartbeat, *, has_drained: bool) -> HeartbeatAction:
    """Decide about one heartbeat. `has_drained`: the other brokers know the new leaders."""
    if condition.is_fenced:
        if wanted.wants_shutdown:
            return HeartbeatAction.STOP
        is_current = wanted.metadata_offset >= condition.registered_at
        return HeartbeatAction.UNFENCE if is_current and not wanted.wants_fence else HeartbeatAction.STAY
    if wanted.wants_fence:
        return HeartbeatAction.STOP if wanted.wants_shutdown else HeartbeatAction.FENCE
    if not wanted.wants_shutdown:
        return HeartbeatAction.STAY
    if not condition.is_draining:
        return HeartbeatAction.DRAIN
    return HeartbeatAction.STOP if not condition.has_leaderships and has_drained else HeartbeatAction.STAY


class Sessions:
    """The time of each broker's last heartbeat, and the metadata offset in it."""

    def __init__(self, timeout_ms: Callable[[int], int]) -> None:
        """`timeout_ms` returns the session timeout of a broker."""
        self.timeout_ms = timeout_ms
        self._heard_ms: dict[int, int] = {}
        self._offsets: dict[int, int] = {}
        self._draining_since: dict[int, int] = {}

    def record_heartbeat(self, broker_id: int, now_ms: int, metadata_offset: int) -> None:
        self._heard_ms[broker_id] = now_ms
        self._offsets[broker_id] = metadata_offset

    def expect(self, broker_id: int, now_ms: int) -> None:
        """Give a broker that has sent this controller no heartbeat yet a whole session."""
        self._heard_ms.setdefault(broker_id, now_ms)

    def forget(self, broker_id: int) -> None:
        self._heard_ms.pop(broker_id, None)
        self._offsets.pop(broker_id, None)
        self._draining_since.pop(broker_id, None)

    def is_alive(self, broker_id: int, now_ms: int) -> bool:
        heard_ms = self._heard_ms.get(broker_id)
        return heard_ms is not None and now_ms - heard_ms < self.timeout_ms(broker_id)

    def last_heard_ms(self, broker_id: int) -> int | None:
        return self._heard_ms.get(broker_id)

    def expired(self, now_ms: int) -> list[int]:
        """The brokers whose sessions have ended, the oldest heartbeat first."""
        silent = [each for each in self._heard_ms if not self.is_alive(each, now_ms)]
        return sorted(silent, key=lambda each: (self._heard_ms[each], each))

    def next_expiry_ms(self) -> int | None:
        ends = (heard_ms + self.timeout_ms(each) for each, heard_ms in self._heard_ms.items())
        return min(ends, default=None)

    def draining(self, broker_id: int, offset: int) -> None:
        """Remember the offset at which a broker's leaderships were handed over."""
        self._draining_since[broker_id] = offset

    def has_drained(self, broker_id: int) -> bool:
        """Whether every other live broker knows the new leaders."""
        since = self._draining_since.get(broker_id)
        if since is None:
            return True  # an earlier controller handed them over: the others have had time to learn of it
        others = [offset for each, offset in self._offsets.items() if each != broker_id]
        return all(offset >= since for offset in others)
