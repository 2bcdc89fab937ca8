"""Measured rates and throttle times. Pure: the time is an argument.

`SampledRate` is Kafka's for bytes and request time: the average over the last samples. A burst counts until its sample
is dropped. `TokenBucket` is the one for topic changes (KIP-599): credit grows with time up to a burst, and may go below
zero once.
"""

from collections import deque


class SampledRate:
    __slots__ = ("_count_max", "_sample_ms", "_samples")

    def __init__(self, sample_count: int, sample_ms: int) -> None:
        self._count_max = sample_count
        self._sample_ms = sample_ms
        self._samples: deque[tuple[float, float]] = deque()  # when it began, and its sum

    def record(self, amount: float, now_ms: float) -> None:
        samples = self._samples
        if samples and now_ms - samples[-1][0] < self._sample_ms:
            began_ms, total = samples[-1]
            samples[-1] = (began_ms, total + amount)
        else:
            samples.append((now_ms, amount))
            if len(samples) > self._count_max:
                samples.popleft()

    def wait_ms(self, limit_per_second: float, now_ms: float) -> float:
        """The time until the average is back at the limit without further records; 0 when it is not above."""
        window_ms = self._window_ms(now_ms)
        rate = sum(total for _, total in self._samples) / window_ms * 1000
        return max(0.0, (rate - limit_per_second) / limit_per_second * window_ms)

    def _window_ms(self, now_ms: float) -> float:
        """The time that the samples stand for: all but the last count whole, also before there are so many."""
        samples = self._samples
        while samples and now_ms - samples[0][0] >= self._count_max * self._sample_ms:
            samples.popleft()
        elapsed_ms = now_ms - samples[0][0] if samples else 0.0
        missing = self._count_max - 1 - elapsed_ms // self._sample_ms
        window_ms = elapsed_ms + max(0.0, missing) * self._sample_ms
        return max(window_ms, float(self._sample_ms))


class TokenBucket:
    __slots__ = ("_burst_seconds", "_filled_ms", "_tokens")

    def __init__(self, burst_seconds: float, limit_per_second: float, now_ms: float) -> None:
        self._burst_seconds = burst_seconds
        self._tokens = burst_seconds * limit_per_second
        self._filled_ms = now_ms

    def wait_ms(self, limit_per_second: float, now_ms: float) -> float:
        """The time until there is credit again; 0 while there is."""
        self._fill(limit_per_second, now_ms)
        return max(0.0, -self._tokens / limit_per_second * 1000)

    def record(self, amount: float, limit_per_second: float, now_ms: float) -> None:
        self._fill(limit_per_second, now_ms)
        self._tokens -= amount

    def _fill(self, limit_per_second: float, now_ms: float) -> None:
        gained = limit_per_second * (now_ms - self._filled_ms) / 1000
        self._tokens = min(self._burst_seconds * limit_per_second, self._tokens + gained)
        self._filled_ms = now_ms
