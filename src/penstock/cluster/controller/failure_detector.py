"""Decides when to probe a broker's listener, and whether a refused connection means that the broker is dead. No I/O.

The controller probes a broker when a heartbeat is late, when the connection of its heartbeats has ended, and when the
controller is new. Only a refused connection is evidence: the process has ended, and its host says so at once. A broker
that is slow, suspended or cut off does not answer, and keeps its whole session.

A heartbeat from a broker that was presumed dead shows that refusals are no evidence there (a firewall may send them):
from then on only its session counts, until it registers again.
"""

from collections.abc import Callable

_LATE_FACTOR = 1.5  # of the heartbeat interval
_RETRY_FACTOR = 0.25


class FailureDetector:
    """`heartbeat_ms` returns the interval at which a broker sends heartbeats."""

    def __init__(self, heartbeat_ms: Callable[[int], int]) -> None:
        self._heartbeat_ms = heartbeat_ms
        self._probe_at_ms: dict[int, int] = {}
        self._probing: set[int] = set()
        self._presumed_dead: set[int] = set()
        self._unreliable: set[int] = set()

    def on_registration(self, broker_id: int) -> None:
        """A new process has this broker id."""
        self._presumed_dead.discard(broker_id)
        self._unreliable.discard(broker_id)

    def on_heartbeat(self, broker_id: int, now_ms: int) -> None:
        self._probing.discard(broker_id)
        if broker_id in self._presumed_dead:
            self._presumed_dead.discard(broker_id)
            self._unreliable.add(broker_id)
        if broker_id not in self._unreliable:
            self._probe_at_ms[broker_id] = now_ms + int(self._heartbeat_ms(broker_id) * _LATE_FACTOR)

    def expect(self, broker_id: int, now_ms: int) -> None:
        """Probe the broker at once: this controller is new and has had no heartbeat from it."""
        self._probe_at_ms.setdefault(broker_id, now_ms)

    def on_disconnect(self, broker_id: int, now_ms: int) -> None:
        """Probe the broker at once: the connection of its heartbeats has ended."""
        if broker_id in self._probe_at_ms:
            self._probe_at_ms[broker_id] = now_ms

    def forget(self, broker_id: int) -> None:
        self._probe_at_ms.pop(broker_id, None)
        self._probing.discard(broker_id)

    def begin_probes(self, now_ms: int) -> list[int]:
        """The brokers to probe now. Call `is_dead` with each result."""
        due = sorted(each for each, at_ms in self._probe_at_ms.items() if at_ms <= now_ms)
        for broker_id in due:
            self._probing.add(broker_id)
            retry_ms = int(self._heartbeat_ms(broker_id) * _RETRY_FACTOR)
            self._probe_at_ms[broker_id] = now_ms + max(1, retry_ms)
        return due

    def is_dead(self, broker_id: int, *, refuses: bool) -> bool:
        """Whether a probe shows that the broker is dead. A heartbeat during the probe shows that it is not."""
        is_dead = refuses and broker_id in self._probing
        self._probing.discard(broker_id)
        if is_dead:
            self.forget(broker_id)
            self._presumed_dead.add(broker_id)
        return is_dead

    @property
    def next_probe_ms(self) -> int | None:
        return min(self._probe_at_ms.values(), default=None)
