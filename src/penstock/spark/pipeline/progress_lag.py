"""How many seconds a query is behind, from when the ends of its partitions were seen to move. Pure.

The record at the consumed offset was written no later than the end of its partition was first seen beyond it; the time
since then is the lag. Records that were there before this process looked count from its first look: a backlog shows
its records at once, and its seconds from now on. No record is fetched for this.
"""

from collections import deque

from penstock.spark.pipeline.progress import Offsets

_SAMPLES_MAX = 600


class LagClock:
    """Remembers, for each partition, when its end was first seen where."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], deque[tuple[int, int]]] = {}  # (end, at_ms), both ascending

    def see(self, latest: Offsets, at_ms: int) -> None:
        for topic, partitions in latest.items():
            for partition, end in partitions.items():
                samples = self._seen.setdefault((topic, partition), deque())
                if samples and end < samples[-1][0]:
                    samples.clear()  # the topic was made anew
                if len(samples) >= _SAMPLES_MAX:
                    self._seen[topic, partition] = samples = deque([*samples][::2])  # coarser, not forgetful
                if not samples or end > samples[-1][0]:
                    samples.append((end, at_ms))

    def seconds_behind(self, consumed: Offsets, now_ms: int) -> float:
        """The lag of the partition that is furthest behind; 0 when everything that was seen is read."""
        longest_ms = 0
        for (topic, partition), samples in self._seen.items():
            offset = consumed.get(topic, {}).get(partition, 0)
            while len(samples) > 1 and samples[0][0] <= offset:
                samples.popleft()
            end, at_ms = samples[0]
            if end > offset:
                longest_ms = max(longest_ms, now_ms - at_ms)
        return longest_ms / 1000
