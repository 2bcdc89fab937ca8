"""The commit format of a Parquet table. No I/O.

On disk, below the table's root (JSON, UTF-8):

    _penstock/table.json                       TableFile: partition columns, schema
    _penstock/commits/<query>/<batch>.json     Manifest: this commit is decided
    _penstock/pending/<attempt>.json           the same file under a second name, until the commit is applied
    _penstock/staging/<file>.parquet.staged    files of tasks, until a commit moves them to their path
    _penstock/lock                             held by the writer that changes the table

A commit is decided when its manifest is in `commits/`, where each batch has one name. A query's name is escaped like
partition values; a write that is no batch of a query has a unique name, and the batch 0.
"""

import base64
from collections.abc import Iterable

import msgspec
import pyarrow as pa

from penstock.spark.lake.files import DataFile
from penstock.spark.lake.partitions import escape

METADATA_DIRECTORY = "_penstock"
STAGING = f"{METADATA_DIRECTORY}/staging"
PENDING = f"{METADATA_DIRECTORY}/pending"
COMMITS = f"{METADATA_DIRECTORY}/commits"
LOCK = f"{METADATA_DIRECTORY}/lock"
TABLE_FILE = f"{METADATA_DIRECTORY}/table.json"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One commit. `attempt` distinguishes two attempts at one batch."""

    attempt: str
    operation: str
    timestamp_ms: int
    query_id: str | None = None
    batch_id: int | None = None
    added: list[DataFile]
    removed: list[str] = []

    @property
    def path(self) -> str:
        name = self.attempt if self.query_id is None else self.query_id
        return f"{query_directory(name)}/{self.batch_id or 0}.json"

    @property
    def pending_path(self) -> str:
        return f"{PENDING}/{self.attempt}.json"


class TableFile(msgspec.Struct, frozen=True, kw_only=True):
    """`columns` is for people; `arrow_schema` is the schema in Arrow's IPC form, in base64."""

    version: int = 1
    partition_by: list[str]
    columns: dict[str, str]
    arrow_schema: str


def query_directory(name: str) -> str:
    return f"{COMMITS}/{escape(name)}"


def decode_manifest(content: bytes) -> Manifest:
    return msgspec.json.decode(content, type=Manifest)


def encode_table(schema: pa.Schema, partition_by: Iterable[str]) -> bytes:
    file = TableFile(
        partition_by=list(partition_by),
        columns={field.name: str(field.type) for field in schema},
        arrow_schema=base64.b64encode(schema.serialize()).decode(),
    )
    return msgspec.json.format(msgspec.json.encode(file), indent=2)


def decode_table(content: bytes) -> tuple[pa.Schema, tuple[str, ...]]:
    file = msgspec.json.decode(content, type=TableFile)
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(file.arrow_schema)))
    return schema, tuple(file.partition_by)
