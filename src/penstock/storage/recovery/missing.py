"""Finds the records that a log has lost: in segments that are gone, and in segments that were truncated.

A log keeps its former shape. A segment that is gone is recreated as an empty file, a truncated segment keeps its size
in memory, and the bytes they lack are damage: readers get an error for these offsets, no other record ever gets them,
and the same bytes from another replica can be written in their place. After a loss at the end a new segment begins, so
that the old file can be restored from a backup.
"""

import itertools
from collections.abc import Mapping, Sequence

import msgspec

from penstock.config.topic import LONG_MAX
from penstock.protocol.records.batch import HEADER_SIZE
from penstock.storage.batch_scan import BatchScan
from penstock.storage.damage.damage import Damage, Loss
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.file_cache import LogFileCache
from penstock.storage.recovery.inventory import LogInventory
from penstock.storage.segment.indexes import load_indexes, read_waiting
from penstock.storage.segment.segment import LOG, Segment


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """The former segments of a log, and the records that they lack."""

    segments: list[Segment]
    losses: list[Loss]


def restore_shape(
    cache: LogFileCache,
    directory: str,
    found: Sequence[Segment],
    expected: LogInventory,
    index_interval_bytes: int,
) -> Shape:
    """Compare the segments that were found with the segments of the last clean stop. Waits for the disk."""
    segments = {each.base_offset: each for each in found}
    losses = []
    is_end_gone = False
    for number, (base_offset, size_bytes) in enumerate(expected.segments):
        end_offset = expected.end_of(number)
        segment = segments.get(base_offset)
        if segment is not None and segment.size_bytes >= size_bytes:
            continue
        is_end_gone = number + 1 == len(expected.segments)
        if size_bytes == 0 or end_offset <= expected.start_offset:
            continue  # all its records were deleted, or compacted away
        if segment is None:
            position, next_offset = 0, base_offset
            what = "is missing"
            segments[base_offset] = Segment.create(cache, directory, base_offset, index_interval_bytes)
        else:
            position, next_offset = _sound_end(segment)
            what = f"has {segment.size_bytes} of the {size_bytes} bytes that it had at the last clean stop"
        if next_offset >= end_offset:
            continue
        damaged = segments[base_offset] = Segment(
            cache, directory, base_offset, size_bytes, index_interval_bytes
        )
        damage = Damage(
            segment=base_offset,
            position=position,
            size_bytes=size_bytes - position,
            base_offset=next_offset,
            next_offset=end_offset,
        )
        losses.append(Loss(path=damaged.log_path, what=what, damage=damage))
    known = {each.damage.base_offset for each in losses}
    losses += [
        Loss(
            path=f"{directory}/{each.segment:020d}{LOG}",
            what="lacked them at the last clean stop",
            damage=each,
        )
        for each in expected.missing
        if each.base_offset not in known and not _is_back(each, segments)
    ]
    losses.sort(key=lambda each: each.damage.base_offset)
    if is_end_gone or (losses and losses[-1].damage.next_offset == expected.end_offset):
        end = expected.end_offset
        if end not in segments:
            segments[end] = Segment.create(cache, directory, end, index_interval_bytes)
            cache.files.sync_dir(directory)
    return Shape(segments=[segments[base] for base in sorted(segments)], losses=losses)


def _is_back(missing: Damage, segments: Mapping[int, Segment]) -> bool:
    """Whether records that were missing are there again, because a file has been restored."""
    segment = segments.get(missing.segment)
    return any(
        missing.base_offset <= base < missing.next_offset for base in segments if base != missing.segment
    ) or (segment is not None and _sound_end(segment)[1] > missing.base_offset)


def find_gaps(segments: Sequence[Segment], log_start_offset: int) -> list[Loss]:
    """Records that are missing between segments, of a log that was not compacted. Waits for the disk."""
    losses = []
    for segment, following in itertools.pairwise(segments):
        if following.base_offset <= log_start_offset:
            continue
        position, next_offset = _sound_end(segment)
        if next_offset < following.base_offset and not (_is_compacted(segment) or _is_compacted(following)):
            damage = Damage(
                segment=segment.base_offset,
                position=position,
                size_bytes=segment.size_bytes - position,
                base_offset=next_offset,
                next_offset=following.base_offset,
            )
            what = f"ends at offset {next_offset}, but the next segment begins at {following.base_offset}"
            losses.append(Loss(path=segment.log_path, what=what, damage=damage))
    return losses


def find_shortfall(
    last: Segment, end_offset: int, point: int, committed_offset: int, newest_snapshot: int | None
) -> Loss | str | None:
    """The records that a log lacks if it ends before its recovery point or high watermark, after a crash.

    Their checkpoints have no checksum. So only offsets below both, and below the newest producer snapshot, are reported
    as missing. If that leaves none, the result is a description of the problem.
    """
    durable_offset = max(point, committed_offset)
    if end_offset >= durable_offset:
        return None
    what = f"ends at offset {end_offset}, but everything below {durable_offset} was durable"
    next_offset = min(each for each in (point, committed_offset, newest_snapshot) if each)
    if next_offset <= end_offset:
        return f"{last.log_path} {what}"
    return _loss_behind(last, end_offset, next_offset, what)


def find_shortfall_before(last: Segment, end_offset: int, journaled_offset: int) -> Loss | None:
    """The records that a log lacks before its records in the journal: everything before those was durable."""
    if end_offset >= journaled_offset:
        return None
    what = f"ends at offset {end_offset}, but the journal shows that all below {journaled_offset} was durable"
    return _loss_behind(last, end_offset, journaled_offset, what)


def _loss_behind(last: Segment, end_offset: int, next_offset: int, what: str) -> Loss:
    damage = Damage(
        segment=last.base_offset,
        position=last.size_bytes,
        size_bytes=0,  # how many there were is not known
        base_offset=end_offset,
        next_offset=next_offset,
    )
    return Loss(path=last.log_path, what=what, damage=damage)


def _is_compacted(segment: Segment) -> bool:
    """Whether offsets are missing within it, as compaction leaves it. Its topic's policy may have changed since."""
    scan = BatchScan(segment.file().read, 0, segment.size_bytes, segment.base_offset, check_crc=False)
    return any(
        header.base_offset > scan.next_offset or header.record_count <= header.last_offset_delta
        for _, header in scan
    )


def _sound_end(segment: Segment) -> tuple[int, int]:
    """The position and offset at which the whole batches of a segment end."""
    indexes = load_indexes(segment.index_source()._replace(size_bytes=LONG_MAX), read_waiting)
    begin = (
        0 if indexes is None else indexes.offsets.position_below(segment.size_bytes - HEADER_SIZE, LONG_MAX)
    )
    for position in (begin, 0):
        scan = BatchScan(
            segment.file().read, position, segment.size_bytes, segment.base_offset, check_crc=False
        )
        for _ in scan:
            pass
        if scan.position > position:
            return scan.position, scan.next_offset
    return 0, segment.base_offset


def report(name: PartitionName, losses: Sequence[Loss]) -> str:
    """For the log of the broker: which offsets are missing, in which files, and what to do."""
    ranges: list[tuple[int, int]] = []
    for each in losses:
        begin, end = each.damage.base_offset, each.damage.next_offset
        if ranges and ranges[-1][1] == begin:
            begin = ranges.pop()[0]
        ranges.append((begin, end))
    offsets = ", ".join(f"{begin} to {end - 1}" for begin, end in ranges)
    files = "; ".join(f"{each.path} {each.what}" for each in losses)
    end_offset = losses[-1].damage.next_offset
    return (
        f"offsets {offsets} ({files}). Readers of these offsets get an error, all "
        "others are served. Replicas on other brokers repair it; without any, stop the broker and restore the file(s) "
        f"from a backup, or accept the loss: penstock topic delete-records {name.topic} --partition {name.partition} "
        f"--before {end_offset}"
    )
