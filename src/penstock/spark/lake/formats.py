"""Which format the table at a path has, and the class that knows it."""

import importlib
import os
from typing import cast

from penstock.distribution import pip_install
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.table import FORMATS, Format, Table

_MARKS: dict[Format, str] = {
    "delta": "_delta_log",
    "iceberg": "metadata/penstock-catalog.db",
    "parquet": "_penstock/table.json",
}


def local_path(given: str) -> str:
    """The path in a form that all formats take; Spark hands some over as `file:` URIs."""
    scheme, _, rest = given.partition(":")
    if scheme == "file":
        return os.path.abspath("/" + rest.lstrip("/"))
    if rest.startswith("//"):
        raise TableError(
            f"tables are kept in directories, not at {given}: give a path that the driver and all workers reach"
        )
    return os.path.abspath(given)


def format_at(path: str) -> Format | None:
    """The format of the table at a path; none where there is no table."""
    return next((each for each in FORMATS if os.path.exists(os.path.join(path, _MARKS[each]))), None)


def open_table(path: str, wanted: Format | None = None) -> Table:
    """The table at a path, whether it exists or not: in the wanted format, and Delta where none is wanted."""
    found = format_at(path)
    if found and wanted and found != wanted:
        raise TableError(f"{path} is a table in the format {found}: write to it with table_format={found}")
    chosen = found or wanted or "delta"
    try:
        module = importlib.import_module(
            f"penstock.spark.lake.{chosen}"
        )  # only this one's libraries are needed
    except ModuleNotFoundError as missing:
        extra = "iceberg" if chosen == "iceberg" else "spark"
        raise TableError(
            f"{chosen} tables need the package {missing.name}: {pip_install(extra)}"
        ) from missing
    return cast("Table", module.open_table(path))


def existing_table(path: str) -> Table:
    """The table at a path, or an error where there is none."""
    if format_at(path) is None:
        raise TableError(
            f"there is no table at {path}: neither Delta nor Iceberg nor Parquet written by Penstock"
        )
    return open_table(path)
