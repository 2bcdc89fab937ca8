"""Decides which offsets a batch query reads."""

import logging

from penstock.client.metadata import TopicPartition
from penstock.spark.source.offsets import Offsets
from penstock.spark.source.plan import DataLoss, OffsetRange, ranges_between, split
from penstock.spark.source.positions import Positions
from penstock.spark.source.spec import AtOffsets, SourceSpec

_log = logging.getLogger(__name__)


def batch_ranges(positions: Positions, spec: SourceSpec) -> list[OffsetRange]:
    """Return the tasks of a batch query."""
    partitions = positions.existing_partitions()
    start = positions.resolve(spec.starting, partitions)
    end = positions.resolve(spec.ending, partitions)
    losses: list[str] = []
    if isinstance(spec.ending, AtOffsets):
        end, losses = _clipped(end, positions.latest(partitions))
    end = {where: max(offset, start[where]) for where, offset in end.items()}  # an empty range is no loss
    ranges, more_losses = ranges_between(start, end, {})
    losses += more_losses
    if losses and spec.fails_on_data_loss:
        raise DataLoss(losses)
    if losses:
        _log.warning("Skipped records that do not exist: %s", "; ".join(losses))
    return split(ranges, partitions_min=spec.partitions_min, records_max=spec.partition_records_max)


def _clipped(end: Offsets, latest: Offsets) -> tuple[dict[TopicPartition, int], list[str]]:
    losses = [
        f"option endingOffsets asks for {where} up to {end[where]}, but it ends at {latest[where]}"
        for where in sorted(end)
        if end[where] > latest[where]
    ]
    return {where: min(offset, latest[where]) for where, offset in end.items()}, losses
