"""Replication throttling: limits how fast lagging replicas catch up, for the sake of clients (KIP-73).

A leader serves throttled replicas, and a follower fetches them, only while the rate is below the limit. In-sync
replicas are never throttled; otherwise they would fall out of sync. Their bytes count for the rate too.

Which replicas: `leader.replication.throttled.replicas` and `follower.replication.throttled.replicas` of their topic,
`*` or pairs partition:broker. How fast: `leader.replication.throttled.rate` and `follower.replication.throttled.rate`
of the broker, in bytes a second.
"""

from collections import deque
from collections.abc import Callable

from penstock.cluster.replica import Replica
from penstock.config.topic import TopicConfig
from penstock.runtime.clock import Clock

ALL = "*"


class MeanRate:
    """Mean bytes a second over a window of samples, and over the length of one sample at least. No I/O."""

    def __init__(self, sample_count: int, sample_ms: int) -> None:
        self._sample_count = sample_count
        self._sample_ms = sample_ms
        self._samples: deque[tuple[float, int]] = deque()  # when it began, and its bytes

    def record(self, size_bytes: int, now_ms: float) -> None:
        samples = self._samples
        if samples and now_ms - samples[-1][0] < self._sample_ms:
            began_ms, total = samples[-1]
            samples[-1] = (began_ms, total + size_bytes)
        else:
            samples.append((now_ms, size_bytes))

    def per_second(self, now_ms: float) -> float:
        samples = self._samples
        while samples and now_ms - samples[0][0] >= self._sample_count * self._sample_ms:
            samples.popleft()
        if not samples:
            return 0.0
        elapsed_ms = max(now_ms - samples[0][0], self._sample_ms)
        return sum(total for _, total in samples) * 1000 / elapsed_ms


class ReplicationThrottle:
    """One direction of this broker's replication: as leader, or as follower."""

    def __init__(
        self,
        node_id: int,
        rate: MeanRate,
        clock: Clock,
        *,
        bytes_per_second_max: Callable[[], int],
        listed: Callable[[TopicConfig], frozenset[str]],
    ) -> None:
        self._node_id = node_id
        self._rate = rate
        self._clock = clock
        self._bytes_per_second_max = bytes_per_second_max
        self._listed = listed

    def covers(self, replica: Replica) -> bool:
        """Whether this partition's replication is throttled."""
        listed = self._listed(replica.log.config)
        return bool(listed) and (ALL in listed or f"{replica.partition}:{self._node_id}" in listed)

    def holds_back(self, replica: Replica, follower: int) -> bool:
        """Whether this follower of the partition must wait."""
        is_in_sync = replica.state is not None and follower in replica.state.isr
        return not is_in_sync and self.covers(replica) and self._is_exceeded()

    def _is_exceeded(self) -> bool:
        return self._rate.per_second(self._clock.monotonic_ms()) > self._bytes_per_second_max()

    def record(self, replica: Replica, size_bytes: int) -> None:
        if self.covers(replica):
            self._rate.record(size_bytes, self._clock.monotonic_ms())
