"""Writes rows to Parquet files of bounded size, one set for each combination of partition values.

Memory is bounded too: rows are buffered until they fill a row group, all files of a task together buffer at most
`BUFFER_BYTES_MAX`, and at most `OPEN_FILES_MAX` files are open.
"""

import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.spark.lake.location import Location
from penstock.spark.lake.partitions import Values, directory_of, split
from penstock.spark.lake.schema import conform
from penstock.spark.lake.statistics import statistics_of
from penstock.spark.lake.store import Store, open_store

BUFFER_BYTES_MAX = 64 << 20
ROW_GROUP_BYTES = 32 << 20
OPEN_FILES_MAX = 64
FILE_SIZE_BYTES = 128 << 20
STAGED_SUFFIX = ".staged"  # not matched by a glob of *.parquet


Compression = Literal["zstd", "snappy", "gzip", "lz4", "none"]


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was written and is not yet part of the table. `path` is relative to the table's root."""

    path: str
    size_bytes: int
    rows: int
    partition: dict[str, str | None]
    statistics: str


class FileLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The place and the content of a table's files.

    `directory` is relative to the root. If `staging` is set, files are written there, by their name alone, and moved to
    their path when they are committed.
    """

    location: Location
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    directory: str = ""
    staging: str | None = None
    keeps_partition_columns: bool = False
    compression: Compression = "zstd"
    file_size_bytes: int = FILE_SIZE_BYTES

    @property
    def store(self) -> Store:
        return open_store(self.location)

    def write_path(self, path: str) -> str:
        """Return the path of a file before it is committed, relative to the root."""
        return staged_path(path, self.staging)

    @property
    def file_schema(self) -> pa.Schema:
        if self.keeps_partition_columns:
            return self.schema
        return pa.schema([field for field in self.schema if field.name not in self.partition_by])


def staged_path(path: str, staging: str | None) -> str:
    return path if staging is None else f"{staging}/{os.path.basename(path)}{STAGED_SUFFIX}"


class TableFiles:
    """The files that one task writes. `close` returns them; `abandon` removes them."""

    def __init__(self, layout: FileLayout) -> None:
        self._layout = layout
        self._open: dict[Values, _OpenFile] = {}
        self._done: list[DataFile] = []
        self._buffered_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        conformed = conform(batch, self._layout.schema)
        for values, rows in split(conformed, self._layout.partition_by):
            file = self._open.pop(values, None) or self._start_file(values)
            self._open[values] = file  # keep the order of last use
            before = file.buffered_bytes
            file.add(rows.select(self._layout.file_schema.names))
            self._buffered_bytes += file.buffered_bytes - before
            if file.size_bytes >= self._layout.file_size_bytes:
                self._finish_file(values)
        if self._buffered_bytes > BUFFER_BYTES_MAX:
            for file in self._open.values():
                file.flush()
            self._buffered_bytes = 0

    def close(self) -> list[DataFile]:
        for values in list(self._open):
            self._finish_file(values)
        return self._done

    def abandon(self) -> None:
        for file in self._open.values():
            file.discard()
        remove_files(self._layout, [each.path for each in self._done])

    def _start_file(self, values: Values) -> "_OpenFile":
        while len(self._open) >= OPEN_FILES_MAX:
            self._finish_file(next(iter(self._open)))
        directory = self._layout.directory + directory_of(self._layout.partition_by, values)
        return _OpenFile(self._layout, f"{directory}part-{uuid.uuid4()}.parquet", values)

    def _finish_file(self, values: Values) -> None:
        file = self._open.pop(values)
        self._buffered_bytes -= file.buffered_bytes
        self._done.append(file.close())


class _OpenFile:
    __slots__ = (
        "_buffer",
        "_file",
        "_footers",
        "_layout",
        "_path",
        "_values",
        "_writer",
        "buffered_bytes",
    )

    def __init__(self, layout: FileLayout, path: str, values: Values) -> None:
        self._layout = layout
        self._path = path
        self._values = values
        self._buffer: list[pa.RecordBatch] = []
        self._footers: list[pq.FileMetaData] = []
        self.buffered_bytes = 0
        self._file = layout.store.new_file(layout.write_path(path))
        self._writer = pq.ParquetWriter(
            self._file.file,
            layout.file_schema,
            compression=layout.compression,
            metadata_collector=self._footers,
        )

    @property
    def size_bytes(self) -> int:
        """Return the size of what is written; 0 while rows are buffered, because their compressed size is unknown."""
        return self._file.file.tell() if not self._buffer else 0

    def add(self, rows: pa.RecordBatch) -> None:
        self._buffer.append(rows)
        self.buffered_bytes += rows.nbytes
        if self.buffered_bytes >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._buffer:
            rows = pa.Table.from_batches(self._buffer)
            self._writer.write_table(rows, row_group_size=rows.num_rows)
            self._buffer = []
            self.buffered_bytes = 0

    def close(self) -> DataFile:
        self.flush()
        self._writer.close()
        return DataFile(
            path=self._path,
            size_bytes=self._file.close(),
            rows=self._footers[0].num_rows,
            partition=dict(zip(self._layout.partition_by, self._values, strict=True)),
            statistics=statistics_of(self._footers[0]),
        )

    def discard(self) -> None:
        self._writer.close()
        self._file.discard()


def write_files(layout: FileLayout, batches: Iterator[pa.RecordBatch]) -> list[DataFile]:
    files = TableFiles(layout)
    try:
        for batch in batches:
            files.write(batch)
        return files.close()
    except BaseException:
        files.abandon()
        raise


def remove_files(layout: FileLayout, paths: Sequence[str]) -> None:
    """Remove files that will not be committed; missing ones are ignored."""
    layout.store.remove(layout.write_path(path) for path in paths)
