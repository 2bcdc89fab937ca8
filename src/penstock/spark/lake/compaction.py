"""Which small files are worth merging. Pure."""

from collections.abc import Iterable

import msgspec

from penstock.spark.lake.shares import packed

_FULL_SHARE = 0.75  # a file this near to the wanted size is left alone


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A live file. Only files of the same partition are merged."""

    path: str
    size_bytes: int
    partition: tuple[object, ...]


def groups_to_merge(files: Iterable[Candidate], file_size_bytes: int) -> list[list[Candidate]]:
    """Groups of at least two small files, each of which makes about one file of the wanted size."""
    by_partition: dict[tuple[object, ...], list[Candidate]] = {}
    for file in files:
        if file.size_bytes < file_size_bytes * _FULL_SHARE:
            by_partition.setdefault(file.partition, []).append(file)
    return [
        group
        for small in by_partition.values()
        for group in packed(small, lambda each: each.size_bytes, file_size_bytes)
        if len(group) > 1
    ]
