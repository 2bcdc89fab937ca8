"""Decides which offsets a batch query reads."""

from penstock.arrow.ranges import OffsetRange
from penstock.client.metadata import TopicPartition
from penstock.spark.source.offsets import Offsets
from penstock.spark.source.plan import ranges_between, report_losses
from penstock.spark.source.positions import Positions, check_start
from penstock.spark.source.spec import AtOffsets, SourceSpec


def batch_ranges(positions: Positions, spec: SourceSpec) -> list[OffsetRange]:
    partitions = positions.existing().partitions
    start = positions.resolve(spec.starting, partitions)
    end = positions.resolve(spec.ending, partitions)
    losses: list[str] = []
    if isinstance(spec.ending, AtOffsets):
        end, losses = _clipped(end, positions.latest(partitions))
    check_start(spec.starting, start, end)
    end = {tp: max(offset, start[tp]) for tp, offset in end.items()}  # an empty range is no loss
    ranges, more_losses = ranges_between(start, end, {})
    report_losses([*losses, *more_losses], fails_on_data_loss=spec.fails_on_data_loss)
    return ranges


def _clipped(end: Offsets, latest: Offsets) -> tuple[dict[TopicPartition, int], list[str]]:
    losses = [
        f"option endingOffsets asks for {tp} up to {end[tp]}, but it ends at {latest[tp]}"
        for tp in sorted(end)
        if end[tp] > latest[tp]
    ]
    return {tp: min(offset, latest[tp]) for tp, offset in end.items()}, losses
