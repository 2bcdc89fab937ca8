"""Which brokers are alive, as the controller sees it. Pure: the time is an argument.

    fenced ──caught up with its registration──> active ──wants to stop──> draining ──leads nothing──> may stop
      ^                                           │
      └──────── not heard of for a session ───────┘

Only the active controller keeps this, and it starts anew with every controller: each broker then has a whole session
to be heard of.
"""

import enum

import msgspec


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a heartbeat says: how far the broker knows the metadata, and what it would like to be.

    `offline_log_dirs` are its directories that have failed (KIP-858).
    """

    metadata_offset: int
    wants_fence: bool = False
    wants_shutdown: bool = False
    offline_log_dirs: tuple[bytes, ...] = ()


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """What the metadata says of the broker."""

    is_fenced: bool
    is_draining: bool
    registered_at: int  # offset of its registration
    has_leaderships: bool


class Verdict(enum.Enum):
    """What to do about a broker that was heard of."""

    STAY = "stay"
    UNFENCE = "unfence"
    FENCE = "fence"
    DRAIN = "drain"
    STOP = "stop"  # it may go


def judge(condition: Condition, wanted: Wanted, *, has_drained: bool) -> Verdict:
    """Decide about one heartbeat. `has_drained`: the others know of the new leaders."""
    if condition.is_fenced:
        if wanted.wants_shutdown:
            return Verdict.STOP
        is_current = wanted.metadata_offset >= condition.registered_at
        return Verdict.UNFENCE if is_current and not wanted.wants_fence else Verdict.STAY
    if wanted.wants_fence:
        return Verdict.STOP if wanted.wants_shutdown else Verdict.FENCE
    if not wanted.wants_shutdown:
        return Verdict.STAY
    if not condition.is_draining:
        return Verdict.DRAIN
    return Verdict.STOP if not condition.has_leaderships and has_drained else Verdict.STAY


class Sessions:
    """When each broker was last heard of, and how far it knew the metadata then."""

    __slots__ = ("_draining_since", "_heard_ms", "_offsets", "timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._heard_ms: dict[int, int] = {}
        self._offsets: dict[int, int] = {}
        self._draining_since: dict[int, int] = {}

    def heard(self, broker_id: int, now_ms: int, metadata_offset: int) -> None:
        self._heard_ms[broker_id] = now_ms
        self._offsets[broker_id] = metadata_offset

    def expect(self, broker_id: int, now_ms: int) -> None:
        """A broker that this controller has not heard of yet has a session to show itself."""
        self._heard_ms.setdefault(broker_id, now_ms)

    def forget(self, broker_id: int) -> None:
        self._heard_ms.pop(broker_id, None)
        self._offsets.pop(broker_id, None)
        self._draining_since.pop(broker_id, None)

    def is_alive(self, broker_id: int, now_ms: int) -> bool:
        heard_ms = self._heard_ms.get(broker_id)
        return heard_ms is not None and now_ms - heard_ms < self.timeout_ms

    def last_heard_ms(self, broker_id: int) -> int | None:
        return self._heard_ms.get(broker_id)

    def expired(self, now_ms: int) -> list[int]:
        """The brokers that were not heard of for a session, the longest silent first."""
        silent = [each for each in self._heard_ms if not self.is_alive(each, now_ms)]
        return sorted(silent, key=lambda each: (self._heard_ms[each], each))

    def next_expiry_ms(self) -> int | None:
        return min(self._heard_ms.values()) + self.timeout_ms if self._heard_ms else None

    def draining(self, broker_id: int, offset: int) -> None:
        """Note at which offset a broker's leaderships were handed over."""
        self._draining_since[broker_id] = offset

    def has_drained(self, broker_id: int) -> bool:
        """Whether every other broker that is heard of knows who leads instead."""
        since = self._draining_since.get(broker_id)
        if since is None:
            return True  # by an earlier controller: the others had time to hear of it
        others = [offset for each, offset in self._offsets.items() if each != broker_id]
        return all(offset >= since for offset in others)
