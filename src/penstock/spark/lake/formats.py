"""The table formats, and how to open the table at a path. A new format is a module and an entry in `TABLE_FORMATS`."""

import os
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from penstock.distribution import pip_install
from penstock.spark.lake.errors import TableError

if TYPE_CHECKING:
    from penstock.spark.lake.table import Table

DEFAULT_FORMAT = "delta"


class TableFormat(msgspec.Struct, frozen=True, kw_only=True):
    marker: str  # a path below the table's root that only tables of this format have
    table: str  # the class, as `module:name`; imported on use, because it needs extra libraries
    extra: str = "spark"  # the pip extra that installs those libraries


TABLE_FORMATS: Mapping[str, TableFormat] = {
    "delta": TableFormat(marker="_delta_log", table="penstock.spark.lake.delta:DeltaTable"),
    "iceberg": TableFormat(
        marker="metadata/penstock-catalog.db",
        table="penstock.spark.lake.iceberg.table:IcebergTable",
        extra="iceberg",
    ),
    "parquet": TableFormat(
        marker="_penstock/table.json", table="penstock.spark.lake.parquet.table:ParquetTable"
    ),
}


def local_path(given: str) -> str:
    """Turn a path or a `file:` URI, which Spark passes in places, into an absolute path."""
    scheme, _, rest = given.partition(":")
    if scheme == "file":
        return os.path.abspath("/" + rest.lstrip("/"))
    if rest.startswith("//"):
        raise TableError(
            f"tables are kept in directories, not at {given}: give a path that the driver and all workers reach"
        )
    return os.path.abspath(given)


def format_at(path: str) -> str | None:
    """Return the format of the table at a path, or None if there is no table."""
    found = (name for name, each in TABLE_FORMATS.items() if os.path.exists(os.path.join(path, each.marker)))
    return next(found, None)


def open_table(path: str, table_format: str | None = None) -> "Table":
    """Open the table at a path, which need not exist yet, in the given format (Delta by default)."""
    found = format_at(path)
    if found and table_format and found != table_format:
        raise TableError(f"{path} is a table in the format {found}: write to it with table_format={found}")
    name = found or table_format or DEFAULT_FORMAT
    try:
        table: type[Table] = pkgutil.resolve_name(TABLE_FORMATS[name].table)
    except ModuleNotFoundError as missing:
        install = pip_install(TABLE_FORMATS[name].extra)
        raise TableError(f"{name} tables need the package {missing.name}: {install}") from missing
    return table(path)


def existing_table(path: str) -> "Table":
    """Open the table at a path; raise TableError if there is none."""
    if format_at(path) is None:
        raise TableError(f"there is no table at {path}: none of {', '.join(TABLE_FORMATS)}")
    return open_table(path)
