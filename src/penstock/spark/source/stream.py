"""Decides which offsets each micro-batch of a stream reads. Uses the cluster and the clock, but not Spark.

Spark asks for the latest offset dozens of times a second while nothing happens, so answers are cached briefly.

A start at "latest" cannot be resolved twice: if the first micro-batch fails, Spark takes its end from the checkpoint
but asks for its start again. So if the start depends on the time, the first micro-batch is empty; all later ones have
both ends in the checkpoint.
"""

from collections.abc import Mapping
from typing import Final

from penstock.client.blocking.clock import BlockingClock
from penstock.client.metadata import TopicPartition
from penstock.spark.source.offsets import Offsets
from penstock.spark.source.plan import OffsetRange, limit_records, ranges_between, report_losses, split
from penstock.spark.source.positions import Positions
from penstock.spark.source.spec import SourceSpec, depends_on_time

LATEST_CACHE_MS: Final = 50
PARTITIONS_CACHE_MS: Final = 1000
_LOSS_CHECKS: Final = 3
_LOSS_CHECK_PAUSE_MS: Final = 500


class StreamPlanner:
    """One for each run of a query, in the process that plans it."""

    def __init__(self, positions: Positions, spec: SourceSpec, clock: BlockingClock) -> None:
        self._positions = positions
        self._spec = spec
        self._clock = clock
        self._initial: Offsets | None = None
        self._starts_with_empty_batch = False
        self._final_end: Offsets | None = None
        self._stops_at_current_end = False
        self._latest: dict[TopicPartition, int] = {}
        self._latest_at_ms = float("-inf")
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._partitions_at_ms = float("-inf")
        self._earliest_of_new: dict[TopicPartition, int] = {}
        self._last_batch_at_ms = float("-inf")

    def initial(self) -> Offsets:
        """Return the start of a query without a checkpoint."""
        partitions = self._positions.existing_partitions()
        self._initial = self._positions.resolve(self._spec.starting, partitions)
        self._starts_with_empty_batch = depends_on_time(self._spec.starting)
        return self._initial

    def stop_at_current_end(self) -> None:
        """Read up to the current end and nothing that comes later (AvailableNow)."""
        self._stops_at_current_end = True

    def latest(self, start: Offsets, *, records_max: int | None = None, takes_all: bool = False) -> Offsets:
        """Return the end of the micro-batch that begins at `start`; `start` itself if there is nothing to read."""
        if self._starts_with_empty_batch and start == self._initial:
            self._starts_with_empty_batch = False
            return start
        latest = self._latest_offsets(start)
        begin = {**self._new_partitions(start, latest), **start}
        if takes_all:
            return latest
        if not self._stops_at_current_end and self._is_waiting_for_more(begin, latest):
            return start
        return latest if records_max is None else limit_records(begin, latest, records_max)

    def latest_known(self) -> Offsets | None:
        return self._latest or None

    def ranges(self, start: Offsets, end: Offsets) -> list[OffsetRange]:
        if start == self._initial:
            # The end is in the checkpoint, the start is not: partitions that came since then belong to a later batch.
            start = {tp: offset for tp, offset in start.items() if tp in end}
            if depends_on_time(self._spec.starting):
                start = {tp: min(offset, end[tp]) for tp, offset in start.items()}
        new = end.keys() - start.keys()
        earliest = self._positions.earliest(new & self._positions.partitions()) if new else {}
        ranges, losses = ranges_between(start, end, earliest)
        self._report_losses(losses)
        return split(
            ranges, partitions_min=self._spec.partitions_min, records_max=self._spec.partition_records_max
        )

    def _latest_offsets(self, start: Offsets) -> Offsets:
        """Return the latest offsets, or with AvailableNow the first ones; detect offsets that went back."""
        if self._final_end is not None:
            return self._final_end
        latest = self._cached_latest(fresh=self._stops_at_current_end)
        losses = _find_losses(start, latest)
        # A broker that just started may not know all partitions yet.
        for _ in range(_LOSS_CHECKS if losses else 0):
            self._clock.sleep(_LOSS_CHECK_PAUSE_MS)
            latest = self._cached_latest(fresh=True)
            losses = _find_losses(start, latest)
            if not losses:
                break
        self._report_losses(losses)
        if self._stops_at_current_end:
            self._final_end = latest
        return latest

    def _cached_latest(self, *, fresh: bool) -> dict[TopicPartition, int]:
        now_ms = self._clock.monotonic_ms()
        if fresh or now_ms - self._partitions_at_ms >= PARTITIONS_CACHE_MS:
            self._partitions = self._positions.partitions()
            self._partitions_at_ms = now_ms
        if fresh or now_ms - self._latest_at_ms >= LATEST_CACHE_MS:
            self._latest = self._positions.latest(self._partitions)
            self._latest_at_ms = now_ms
        return self._latest

    def _new_partitions(self, start: Offsets, latest: Offsets) -> Mapping[TopicPartition, int]:
        new = latest.keys() - start.keys()
        self._earliest_of_new = {w: o for w, o in self._earliest_of_new.items() if w in new}
        unknown = new - self._earliest_of_new.keys()
        if unknown:
            self._earliest_of_new.update(self._positions.earliest(unknown))
        return self._earliest_of_new

    def _is_waiting_for_more(self, begin: Offsets, latest: Offsets) -> bool:
        """Say whether minOffsetsPerTrigger requires to wait, within maxTriggerDelay."""
        minimum = self._spec.trigger_offsets_min
        if minimum is None:
            return False
        now_ms = self._clock.monotonic_ms()
        if self._last_batch_at_ms == float("-inf"):
            self._last_batch_at_ms = now_ms
        waiting = sum(max(latest[tp] - begin[tp], 0) for tp in latest)
        if waiting < minimum and now_ms - self._last_batch_at_ms < self._spec.trigger_delay_max_ms:
            return True
        self._last_batch_at_ms = now_ms
        return False

    def _report_losses(self, losses: list[str]) -> None:
        report_losses(losses, fails_on_data_loss=self._spec.fails_on_data_loss)


def _find_losses(start: Offsets, latest: Offsets) -> list[str]:
    """Describe the partitions of `start` that are gone or end before it."""
    return ranges_between(start, {tp: latest[tp] for tp in start if tp in latest}, {})[1]
