"""Remembers the order of deleted keys beside a table, so that a late row does not bring a key back.

    _penstock/deleted/<id>.json        the files of one state: [{"name", "rows", "newest_ms"}, …]
    _penstock/deleted/<uuid>.parquet   deletions: the columns of the key and of the order, and `deleted_ms`

A commit of the table names the state that belongs to it, so both change in one step. A state is never changed. New
deletions are a new file, merged with the files before it that are not much larger: so there are few files, and a
deletion is rewritten a few times only. Deletions older than the retention are dropped then.
"""

import random
import uuid
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.merge.key_set import KeySet
from penstock.spark.lake.store import Store

DIRECTORY = "_penstock/deleted"
NO_STATE = 0
_DELETED_MS = "penstock deleted_ms"
_GROWTH = 2  # a file is merged with a new one unless it is more than this many times larger
_ID_BITS = 62  # an id is also a version in Delta's log, a signed 64-bit integer


class DeletionFile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    rows: int
    newest_ms: int


_FILES = msgspec.json.Decoder(list[DeletionFile])


class DeletedKeys:
    """The deletions of one state of a table. `schema` has the columns of the key and of the order."""

    def __init__(self, store: Store, state_id: int, schema: pa.Schema) -> None:
        self._store = store
        self._schema = schema
        self._state_id = state_id
        self.files: list[DeletionFile] = [] if state_id == NO_STATE else self._read_state()

    def of(self, keys: KeySet) -> pa.Table:
        """Return the deletions of keys that may be these."""
        found = [rows.filter(keys.rows(rows)).select(self._schema.names) for rows in self._read_all()]
        return pa.concat_tables([self._schema.empty_table(), *found])

    @property
    def paths(self) -> set[str]:
        """Return the files of this state."""
        state = [] if self._state_id == NO_STATE else [f"{self._state_id}.json"]
        return {_path(name) for name in (*state, *(file.name for file in self.files))}

    def with_added(self, deletions: pa.Table, now_ms: int, retention_ms: int) -> int:
        """Write a state with more deletions, and return its id."""
        if not deletions.num_rows:
            return self._state_id
        oldest_ms = now_ms - retention_ms
        kept = [file for file in self.files if file.newest_ms >= oldest_ms]
        times = pa.array([now_ms] * deletions.num_rows, pa.int64())
        rows = deletions.select(self._schema.names).append_column(_DELETED_MS, times)
        while kept and kept[-1].rows <= _GROWTH * rows.num_rows:
            before = self._read(kept.pop())
            rows = pa.concat_tables([before.filter(pc.field(_DELETED_MS) >= oldest_ms), rows])
        return self._write_state([*kept, self._write(rows, now_ms)])

    def _write(self, rows: pa.Table, now_ms: int) -> DeletionFile:
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd")
        name = f"{uuid.uuid4()}.parquet"
        self._store.write(_path(name), sink.getvalue().to_pybytes())
        return DeletionFile(name=name, rows=rows.num_rows, newest_ms=now_ms)

    def _write_state(self, files: list[DeletionFile]) -> int:
        state_id = random.SystemRandom().getrandbits(_ID_BITS) + 1
        self._store.write(_path(f"{state_id}.json"), msgspec.json.encode(files))
        return state_id

    def _read_state(self) -> list[DeletionFile]:
        return _FILES.decode(self._content(f"{self._state_id}.json"))

    def _read_all(self) -> Iterator[pa.Table]:
        return map(self._read, self.files)

    def _read(self, file: DeletionFile) -> pa.Table:
        rows: Any = pq.read_table(pa.BufferReader(self._content(file.name)))
        typed: pa.Table = rows.cast(self._schema.append(pa.field(_DELETED_MS, pa.int64())))
        return typed

    def _content(self, name: str) -> bytes:
        content = self._store.read(_path(name))
        if content is None:
            raise TableError(
                f"the table has lost its deleted keys: {_path(name)} is missing; restore it, or rebuild the table from "
                "its topic"
            )
        return content


def _path(name: str) -> str:
    return f"{DIRECTORY}/{name}"
