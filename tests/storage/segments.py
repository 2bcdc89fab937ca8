"""Segments written by hand, for tests below the level of a log."""

from random import Random

from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import Record, decode_records
from penstock.storage.compaction.rewrite import CompactionJob
from penstock.storage.files import FileSystem, read_whole
from penstock.storage.retention import SegmentFacts
from penstock_simulation.disk import FaultyDisk

DIRECTORY = "/data/topic-0"
NOW_MS = 1_000_000


def new_disk(seed: int = 1) -> FaultyDisk:
    disk = FaultyDisk(Random(seed))
    disk.make_dirs(DIRECTORY)
    disk.sync_dir("/")
    disk.sync_dir("/data")
    return disk


def keyed(pairs: str) -> list[NewRecord]:
    """Records from words like `a=1`; `a` alone is a tombstone, `=1` has no key."""
    records = []
    for word in pairs.split():
        key, has_value, value = word.partition("=")
        records.append(NewRecord(key.encode() or None, value.encode() if has_value else None, (), 500))
    return records


def write_segment(files: FileSystem, base_offset: int, *batches: bytes) -> SegmentFacts:
    """A synced segment of batches whose offsets are in them."""
    path = f"{DIRECTORY}/{base_offset:020d}.log"
    file = files.open(path, create=True)
    file.write(batches, 0)
    file.sync()
    file.close()
    files.sync_dir(DIRECTORY)
    return SegmentFacts(
        base_offset=base_offset,
        size_bytes=sum(len(batch) for batch in batches),
        largest_timestamp_ms=500,
        first_timestamp_ms=500,
    )


def write_log(files: FileSystem, *segments: str, start: int = 0) -> tuple[SegmentFacts, ...]:
    """Segments of one batch per `|`-separated part of each string, at ascending offsets."""
    offset = start
    facts = []
    for segment in segments:
        base_offset = offset
        batches = []
        for part in segment.split("|"):
            records = keyed(part)
            batches.append(build_batch(records, base_offset=offset))
            offset += len(records)
        facts.append(write_segment(files, base_offset, *batches))
    return tuple(facts)


def job_of(
    segments: tuple[SegmentFacts, ...],
    *,
    end: int,
    first_dirty_offset: int = 0,
    now_ms: int = NOW_MS,
    segment_bytes_max: int = 1 << 20,
    dedupe_buffer_bytes: int = 1 << 20,
) -> CompactionJob:
    return CompactionJob(
        directory=DIRECTORY,
        segments=segments,
        first_dirty_offset=first_dirty_offset,
        first_uncleanable_offset=end,
        now_ms=now_ms,
        delete_retention_ms=1000,
        segment_bytes_max=segment_bytes_max,
        index_bytes_max=1 << 20,
        index_interval_bytes=64,
        dedupe_buffer_bytes=dedupe_buffer_bytes,
    )


def records_in(files: FileSystem, name: str) -> list[Record]:
    content = read_whole(files, f"{DIRECTORY}/{name}")
    return [r for position, _ in iter_batches_strict(content) for r in decode_records(content, pos=position)]


def pairs_in(files: FileSystem, name: str) -> str:
    """Like `3:a=1 5:b`, the inverse of `keyed` with offsets."""
    words = []
    for r in records_in(files, name):
        value = "" if r.value is None else "=" + r.value.decode()
        words.append(f"{r.offset}:{(r.key or b'').decode()}{value}")
    return " ".join(words)


def all_pairs(files: FileSystem, suffix: str = ".log") -> str:
    names = [name for name in files.list(DIRECTORY) if name.endswith(suffix)]
    return " ".join(filter(None, (pairs_in(files, name) for name in names)))
