"""The table formats, and how to open the table at a location.

A new format is a module and an entry in `TABLE_FORMATS`.
"""

import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from penstock.distribution import pip_install
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.location import Location, location_of
from penstock.spark.lake.store import open_store

if TYPE_CHECKING:
    from penstock.spark.lake.table import Table

DEFAULT_FORMAT = "delta"
ICEBERG = "iceberg"


class TableFormat(msgspec.Struct, frozen=True, kw_only=True):
    marker: str  # a path below the table's root that only tables of this format have
    table: str  # the class, as `module:name`; imported on use, because it needs extra libraries
    extra: str = "spark"  # the pip extra that installs those libraries
    not_remote: str = ""  # why there can be no table of this format at the URL of an object store


TABLE_FORMATS: Mapping[str, TableFormat] = {
    "delta": TableFormat(marker="_delta_log", table="penstock.spark.lake.delta:DeltaTable"),
    "iceberg": TableFormat(
        marker="metadata/penstock-catalog.db",
        table="penstock.spark.lake.iceberg.table:IcebergTable",
        extra="iceberg",
        not_remote=(
            "an Iceberg table in an object store needs a catalog that decides between writers: "
            "set `catalog`, and name the table as NAMESPACE.TABLE"
        ),
    ),
    "parquet": TableFormat(
        marker="_penstock/table.json",
        table="penstock.spark.lake.parquet.table:ParquetTable",
        not_remote=(
            "plain Parquet tables cannot be in an object store, which cannot move files: half of a batch would be "
            "seen by readers. Use the format delta, or iceberg with a catalog"
        ),
    ),
}


def format_at(location: Location | str) -> str | None:
    """Return the format of the table at a location, or None if there is no table."""
    location = as_location(location)
    if location.catalog is not None:
        return ICEBERG
    store = open_store(location)
    return next((name for name, each in TABLE_FORMATS.items() if store.exists(each.marker)), None)


def open_table(location: Location | str, table_format: str | None = None) -> "Table":
    """Open the table at a location, which need not exist yet, in the given format (Delta by default)."""
    location = as_location(location)
    found = format_at(location)
    if found and table_format and found != table_format:
        raise TableError(
            f"{location} is a table in the format {found}: write to it with table_format={found}"
        )
    name = found or table_format or DEFAULT_FORMAT
    check_format(location, name)
    try:
        table: type[Table] = pkgutil.resolve_name(TABLE_FORMATS[name].table)
    except ModuleNotFoundError as missing:
        install = pip_install(TABLE_FORMATS[name].extra)
        raise TableError(f"{name} tables need the package {missing.name}: {install}") from missing
    return table(location)


def check_format(location: Location, table_format: str) -> None:
    """Raise TableError if there can be no table of this format at the location."""
    if location.is_remote and (reason := TABLE_FORMATS[table_format].not_remote):
        raise TableError(f"{location}: {reason}")
    if location.catalog is not None and table_format != ICEBERG:
        raise TableError(
            f"{location}: catalogs have Iceberg tables, no {table_format} tables: remove `catalog`"
        )


def existing_table(location: Location | str) -> "Table":
    """Open the table at a location; raise TableError if there is none."""
    location = as_location(location)
    if format_at(location) is None:
        raise TableError(f"there is no table at {location}: none of {', '.join(TABLE_FORMATS)}")
    table = open_table(location)
    if location.catalog is not None and table.state() is None:
        raise TableError(f"there is no table {location} in the catalog {location.catalog.get('name', '')}")
    return table


def as_location(given: Location | str) -> Location:
    return location_of(given) if isinstance(given, str) else given
