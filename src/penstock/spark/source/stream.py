"""Decides which offsets each micro-batch of a stream reads. Uses the cluster and the clock, but not Spark.

Spark asks for the latest offset dozens of times a second while nothing happens, so answers are cached briefly.

A start at "latest" cannot be resolved twice: if the first micro-batch fails, Spark takes its end from the checkpoint
but asks for its start again. So if the start depends on the time, the first micro-batch is empty; all later ones have
both ends in the checkpoint.

A topic that was deleted and created again has another id. That is a loss; without `failOnDataLoss` the new topic is
read from its beginning.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.arrow.ranges import OffsetRange
from penstock.client.blocking.clock import BlockingClock
from penstock.client.metadata import TopicPartition
from penstock.spark.source.offsets import Offsets, StreamOffsets
from penstock.spark.source.plan import limit_records, ranges_between, report_losses
from penstock.spark.source.positions import Positions, Subscribed, check_start
from penstock.spark.source.spec import AtOffsets, SourceSpec, depends_on_time

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
        self._initial: StreamOffsets | None = None
        self._starts_with_empty_batch = False
        self._final_end: StreamOffsets | None = None
        self._stops_at_current_end = False
        self._latest = StreamOffsets(offsets={})
        self._latest_at_ms = float("-inf")
        self._subscribed = Subscribed(frozenset(), {})
        self._partitions_at_ms = float("-inf")
        self._earliest_of_new: dict[TopicPartition, int] = {}
        self._last_batch_at_ms = float("-inf")

    def initial(self) -> StreamOffsets:
        """Return the start of a query without a checkpoint."""
        partitions, topic_ids = self._positions.existing()
        start = self._positions.resolve(self._spec.starting, partitions)
        if self._spec.fails_on_data_loss and isinstance(self._spec.starting, AtOffsets):
            check_start(self._spec.starting, start, self._positions.latest(partitions))
        self._initial = StreamOffsets(offsets=start, topic_ids=topic_ids)
        self._starts_with_empty_batch = depends_on_time(self._spec.starting)
        return self._initial

    def stop_at_current_end(self) -> None:
        """Read up to the current end and nothing that comes later (AvailableNow)."""
        self._stops_at_current_end = True

    def latest(
        self, start: StreamOffsets, *, records_max: int | None = None, takes_all: bool = False
    ) -> StreamOffsets:
        """Return the end of the micro-batch that begins at `start`; `start` itself if there is nothing to read."""
        if self._starts_with_empty_batch and start == self._initial:
            self._starts_with_empty_batch = False
            return start
        latest = self._latest_offsets(start)
        recreated = start.recreated(latest)
        if start.offsets == latest.offsets and not recreated:
            return start  # an id that was unknown before is no reason for a batch
        if takes_all:
            return latest
        known = start.without(recreated)
        begin = {**self._new_partitions(known, latest.offsets), **known}
        if not self._stops_at_current_end and self._is_waiting_for_more(begin, latest.offsets):
            return start
        if records_max is None:
            return latest
        limited = limit_records(begin, latest.offsets, records_max)
        return msgspec.structs.replace(latest, offsets=limited)

    def latest_known(self) -> StreamOffsets | None:
        return self._latest if self._latest.offsets else None

    def ranges(self, start: StreamOffsets, end: StreamOffsets) -> list[OffsetRange]:
        recreated = start.recreated(end)
        known = start.without(recreated)
        if start == self._initial:
            # The end is in the checkpoint, the start is not: partitions that came since then belong to a later batch.
            known = {tp: offset for tp, offset in known.items() if tp in end.offsets}
            if depends_on_time(self._spec.starting):
                known = {tp: min(offset, end.offsets[tp]) for tp, offset in known.items()}
        new = end.offsets.keys() - known.keys()
        earliest = self._positions.earliest(new & self._positions.partitions()) if new else {}
        ranges, losses = ranges_between(known, end.offsets, earliest)
        self._report_losses([*_recreation_losses(start, end, recreated), *losses])
        return [msgspec.structs.replace(each, topic_id=end.topic_ids.get(each.topic, "")) for each in ranges]

    def _latest_offsets(self, start: StreamOffsets) -> StreamOffsets:
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

    def _cached_latest(self, *, fresh: bool) -> StreamOffsets:
        now_ms = self._clock.monotonic_ms()
        if fresh or now_ms - self._partitions_at_ms >= PARTITIONS_CACHE_MS:
            self._subscribed = self._positions.subscribed()
            self._partitions_at_ms = now_ms
        if fresh or now_ms - self._latest_at_ms >= LATEST_CACHE_MS:
            partitions, topic_ids = self._subscribed
            self._latest = StreamOffsets(offsets=self._positions.latest(partitions), topic_ids=topic_ids)
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


def _find_losses(start: StreamOffsets, latest: StreamOffsets) -> list[str]:
    """Describe the topics that were created again, and the partitions that are gone or end before `start`."""
    recreated = start.recreated(latest)
    known = start.without(recreated)
    ends = {tp: latest.offsets[tp] for tp in known if tp in latest.offsets}
    return [*_recreation_losses(start, latest, recreated), *ranges_between(known, ends, {})[1]]


def _recreation_losses(start: StreamOffsets, end: StreamOffsets, recreated: set[str]) -> list[str]:
    return [
        f"topic {topic} was deleted and created again (its id was {start.topic_ids[topic]} and is "
        f"{end.topic_ids[topic]} now), so its offsets start anew"
        for topic in sorted(recreated)
    ]
