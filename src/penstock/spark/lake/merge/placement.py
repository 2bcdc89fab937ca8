"""Chooses the file for each new row, so that files cover narrow ranges of keys and stay few. No I/O."""

import math
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.lake.merge.contents import LiveFile

_SPLIT_AT = 1.25  # a file this many times larger than wanted is split
_SMALL = 0.5  # a file larger than this part of the wanted size is left alone


def assign(
    rows: pa.Table, column: str, files: Sequence[tuple[int, LiveFile]]
) -> tuple[dict[int, pa.Table], pa.Table]:
    """Give each row to a file that covers its key. Return the rows of each file, and the other rows."""
    by_file: dict[int, pa.Table] = {}
    rest = rows
    for at, file in files:
        if column not in file.bounds or not rest.num_rows:
            continue
        low, high = (pa.scalar(bound).cast(rest.schema.field(column).type) for bound in file.bounds[column])
        values = rest.column(column)
        covered = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
        chosen = rest.filter(covered)
        if chosen.num_rows:
            by_file[at] = chosen
            rest = rest.filter(pc.invert(covered))
    return by_file, rest


def files_to_fold(files: Sequence[tuple[int, LiveFile]], rows: int, file_size_bytes: int) -> list[int]:
    """Return the small files to merge with some new rows: each at most twice what is merged before it.

    So the sizes of small files double, and a row is rewritten a few times until its file is large.
    """
    small = sorted(
        (file.rows, file.size_bytes, at) for at, file in files if file.size_bytes < file_size_bytes * _SMALL
    )
    found, size_bytes = list[int](), 0
    for file_rows, file_bytes, at in small:
        size_bytes += file_bytes
        if file_rows > 2 * rows or size_bytes > file_size_bytes:
            break
        found.append(at)
        rows += file_rows
    return found


def parts_of(file: LiveFile, row_change: int, file_size_bytes: int) -> int:
    """Return the number of files into which a rewritten file is split."""
    expected_bytes = file.size_bytes * (1 + row_change / max(file.rows, 1))
    if expected_bytes <= file_size_bytes * _SPLIT_AT:
        return 1
    return math.ceil(expected_bytes / file_size_bytes)
