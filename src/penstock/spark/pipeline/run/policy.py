"""Decides whether a failed query is restarted or given up. Pure."""

from collections.abc import Sequence

import msgspec

from penstock.spark.pipeline.core.model import Restart

_PAUSE_MS_MAX = 60_000


class Again(msgspec.Struct, frozen=True, kw_only=True):
    after_ms: int
    attempt: int


class GiveUp(msgspec.Struct, frozen=True, kw_only=True):
    reason: str


def after_failure(
    failures_ms: Sequence[int], now_ms: int, restart: Restart, *, is_final: bool = False
) -> Again | GiveUp:
    """Decide about a query that has failed at these times, the last one now.

    The pause doubles with each recent failure. With `is_final` a restart would fail again, as after an expectation that
    stops the query.
    """
    if is_final:
        return GiveUp(reason="it would fail again")
    recent = sum(1 for failure_ms in failures_ms if now_ms - failure_ms <= restart.within_ms)
    if recent > restart.attempts:
        return GiveUp(reason=f"it failed {recent} times in {_spelled(restart.within_ms)}")
    return Again(after_ms=min(restart.backoff_ms * 2 ** (recent - 1), _PAUSE_MS_MAX), attempt=recent)


def _spelled(duration_ms: int) -> str:
    seconds = duration_ms / 1000
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"
