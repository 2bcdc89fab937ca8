"""What a merge needs of the table that it changes. Each format of tables with upserts implements `Contents`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import pyarrow as pa


class LiveFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the table. A column without known bounds is in neither mapping."""

    path: str
    rows: int
    size_bytes: int
    partition: Mapping[str, str | None]  # as in DataFile
    bounds: Mapping[str, tuple[Any, Any]]  # by column: the smallest and the largest value
    nulls: Mapping[str, int]  # by column
    handle: Any  # by which the format reads and removes it


class Contents(Protocol):
    columns: Sequence[str]  # that the table has before the merge

    def live_files(self, columns: Sequence[str]) -> list[LiveFile]:
        """List the files, with what is known of some columns."""

    def read(self, file: LiveFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, in the same order each time."""
