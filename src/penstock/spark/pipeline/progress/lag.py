"""Estimates a query's lag in seconds, from the times at which the ends of its partitions moved. No I/O.

A record was written no later than the end of its partition was first seen beyond it; the time since then is the lag.
Records written before this process started count from its start. No record is fetched for this.
"""

from collections import deque

from penstock.spark.pipeline.progress.batch import Offsets

_SAMPLES_MAX = 600


class LagEstimator:
    """Keeps, for each partition, when its end was first seen at which offset."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], deque[tuple[int, int]]] = {}  # (end, at_ms), both ascending

    def observe(self, latest: Offsets, at_ms: int) -> None:
        for topic, partitions in latest.items():
            for partition, end in partitions.items():
                samples = self._seen.setdefault((topic, partition), deque())
                if samples and end < samples[-1][0]:
                    samples.clear()  # the topic was deleted and created again
                if len(samples) >= _SAMPLES_MAX:  # keep every second sample
                    self._seen[topic, partition] = samples = deque([*samples][::2])
                if not samples or end > samples[-1][0]:
                    samples.append((end, at_ms))

    def seconds_behind(self, consumed: Offsets, now_ms: int) -> float:
        """Return the lag of the partition that is furthest behind; 0 if all known records are read."""
        longest_ms = 0
        for (topic, partition), samples in self._seen.items():
            offset = consumed.get(topic, {}).get(partition, 0)
            while len(samples) > 1 and samples[0][0] <= offset:
                samples.popleft()
            end, at_ms = samples[0]
            if end > offset:
                longest_ms = max(longest_ms, now_ms - at_ms)
        return longest_ms / 1000
