"""Merges small files. No I/O except for the files that it writes."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec
import pyarrow as pa

from penstock.spark.lake.files import DataFile, FileLayout, write_files
from penstock.spark.lake.splits import pack

_LARGE_FILE_FRACTION = 0.75  # a file this close to the target size is left alone


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A live file. Only files of the same partition are merged."""

    path: str
    size_bytes: int
    partition: tuple[object, ...]


class Merge(NamedTuple):
    removed: list[str]
    added: list[DataFile]


def groups_to_merge(files: Iterable[Candidate], file_size_bytes: int) -> list[list[Candidate]]:
    """Return groups of at least two small files, each of which makes about one file of the target size."""
    by_partition: dict[tuple[object, ...], list[Candidate]] = {}
    for file in files:
        if file.size_bytes < file_size_bytes * _LARGE_FILE_FRACTION:
            by_partition.setdefault(file.partition, []).append(file)
    return [
        group
        for small in by_partition.values()
        for group in pack(small, lambda each: each.size_bytes, file_size_bytes)
        if len(group) > 1
    ]


def merge_small_files(
    files: Iterable[Candidate],
    file_size_bytes: int,
    layout: FileLayout,
    rows: Callable[[list[str]], Iterator[pa.RecordBatch]],
) -> list[Merge]:
    """Write the rows of each group of small files to new files. `rows` reads the files at some paths."""
    groups = [[file.path for file in group] for group in groups_to_merge(files, file_size_bytes)]
    return [Merge(paths, write_files(layout, rows(paths))) for paths in groups]
