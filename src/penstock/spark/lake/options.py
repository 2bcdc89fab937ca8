"""Parses the options of `format("penstock_lake")`."""

from collections.abc import Mapping
from typing import cast, get_args

import msgspec

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import Compression
from penstock.spark.lake.formats import TABLE_FORMATS
from penstock.spark.lake.location import Location, location_of
from penstock.spark.options import OptionError, Options

_MEBIBYTE = 1 << 20


class LakeOptions(msgspec.Struct, frozen=True, kw_only=True):
    location: Location
    table_format: str | None = None
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = False
    query_id: str | None = None
    batch_id: int | None = None
    compression: Compression = "zstd"
    file_size_bytes: int = 128 * _MEBIBYTE
    columns: tuple[str, ...] = ()
    push_filters: bool = False


def parse_options(given: Mapping[str, str]) -> LakeOptions:
    """Parse the known options; options of other parts of Spark are ignored."""
    options = Options(given)
    path = options.text("path")
    if not path:
        raise TableError(
            "no path: use .save(path), .start(path) or .load(path); "
            "Spark does not pass the location of a catalog table to a Python sink"
        )
    try:
        return LakeOptions(
            location=location_of(path, options.below("storage."), _catalog(options)),
            table_format=options.choice("table_format", tuple(TABLE_FORMATS)),
            partition_by=options.names("partition_by"),
            merge_schema=options.boolean("merge_schema"),
            query_id=options.text("query_id") or None,
            batch_id=options.integer("batch_id", minimum=0),
            compression=cast("Compression", options.choice("compression", get_args(Compression)) or "zstd"),
            file_size_bytes=(options.integer("file_size_mb") or 128) * _MEBIBYTE,
            columns=options.names("columns"),
            push_filters=options.boolean("push_filters"),
        )
    except OptionError as error:
        raise TableError(str(error)) from None


def is_known_option(name: str) -> bool:
    """Say whether it is an option of the format itself."""
    wanted = name.replace("_", "").lower()
    known = {*LakeOptions.__struct_fields__, "path", "file_size_mb"}
    return any(each.replace("_", "") == wanted for each in known)


def _catalog(options: Options) -> dict[str, str] | None:
    """Return the properties of the catalog, with its `name`; None for a table at a path."""
    properties = options.below("catalog.")
    name = options.text("catalog")
    if name:
        properties["name"] = name
    return properties or None
