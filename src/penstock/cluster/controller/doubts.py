"""When to look whether a broker is still there, and what to make of it. Pure: the time is an argument.

A heartbeat that is late, the end of the connection on which heartbeats came, or a controller that is new and has heard
of nobody yet: each is a reason to try the broker's listener. Only a refusal says something. A process that has ended
listens no more, and its host says so at once; one that is slow, suspended or cut off says nothing, and has its whole
session.

A broker that is heard of after it was taken for dead shows that refusals mean nothing where it is (perhaps a firewall
gives them): from then on only its session counts, until it registers anew.
"""

_LATE = 1.5  # heartbeat intervals
_AGAIN = 0.25


class Doubts:
    """`heartbeat_ms` is how often brokers are to be heard of."""

    __slots__ = ("_heartbeat_ms", "_look_at_ms", "_looking", "_presumed_dead", "_unreliable")

    def __init__(self, heartbeat_ms: int) -> None:
        self._heartbeat_ms = heartbeat_ms
        self._look_at_ms: dict[int, int] = {}
        self._looking: set[int] = set()
        self._presumed_dead: set[int] = set()
        self._unreliable: set[int] = set()

    def registers(self, broker_id: int) -> None:
        """It is another process from here on."""
        self._presumed_dead.discard(broker_id)
        self._unreliable.discard(broker_id)

    def heard(self, broker_id: int, now_ms: int) -> None:
        self._looking.discard(broker_id)
        if broker_id in self._presumed_dead:
            self._presumed_dead.discard(broker_id)
            self._unreliable.add(broker_id)
        if broker_id not in self._unreliable:
            self._look_at_ms[broker_id] = now_ms + int(self._heartbeat_ms * _LATE)

    def expect(self, broker_id: int, now_ms: int) -> None:
        """Nothing was heard of it yet, for the controller is new: look at once."""
        self._look_at_ms.setdefault(broker_id, now_ms)

    def lost(self, broker_id: int, now_ms: int) -> None:
        """The connection on which its heartbeats came has ended: look at once."""
        if broker_id in self._look_at_ms:
            self._look_at_ms[broker_id] = now_ms

    def forget(self, broker_id: int) -> None:
        self._look_at_ms.pop(broker_id, None)
        self._looking.discard(broker_id)

    def begin(self, now_ms: int) -> list[int]:
        """The brokers to look at now; each ends by `is_dead`."""
        due = sorted(each for each, at_ms in self._look_at_ms.items() if at_ms <= now_ms)
        for broker_id in due:
            self._looking.add(broker_id)
            self._look_at_ms[broker_id] = now_ms + max(1, int(self._heartbeat_ms * _AGAIN))
        return due

    def is_dead(self, broker_id: int, *, refuses: bool) -> bool:
        """What to take it for, now that one has looked: it may have been heard of meanwhile."""
        is_dead = refuses and broker_id in self._looking
        self._looking.discard(broker_id)
        if is_dead:
            self.forget(broker_id)
            self._presumed_dead.add(broker_id)
        return is_dead

    @property
    def next_ms(self) -> int | None:
        return min(self._look_at_ms.values(), default=None)
