"""Parses the options of `format("penstock_lake")`."""

from collections.abc import Mapping
from typing import cast, get_args

import msgspec

from penstock.spark.durations import parse_duration_ms
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import FILE_SIZE_BYTES, Compression
from penstock.spark.lake.formats import TABLE_FORMATS
from penstock.spark.lake.location import Location, location_of
from penstock.spark.lake.merge.rules import MergeRules
from penstock.spark.lake.merge.settings import DELETE_RETENTION_MS, HISTORIES, MERGED_FILE_SIZE_BYTES, SCD2
from penstock.spark.options import OptionError, Options

_MEBIBYTE = 1 << 20
_MODES = ("append", "upsert")
_FOR_UPSERTS = ("key", "order_by", "history", "delete_retention")


class LakeOptions(msgspec.Struct, frozen=True, kw_only=True):
    location: Location
    table_format: str | None = None
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = False
    query_id: str | None = None
    batch_id: int | None = None
    compression: Compression = "zstd"
    file_size_bytes: int = FILE_SIZE_BYTES
    merge_rules: MergeRules | None = None  # the rows are changes
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
            file_size_bytes=_file_size_bytes(options),
            merge_rules=_merge_rules(options),
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


def _file_size_bytes(options: Options) -> int:
    size_mb = options.integer("file_size_mb")
    if size_mb is not None:
        return size_mb * _MEBIBYTE
    return MERGED_FILE_SIZE_BYTES if _is_upsert(options) else FILE_SIZE_BYTES


def _is_upsert(options: Options) -> bool:
    return options.choice("mode", _MODES) == "upsert"


def _merge_rules(options: Options) -> MergeRules | None:
    if not _is_upsert(options):
        given = [name for name in _FOR_UPSERTS if options.is_given(name)]
        if given:
            raise OptionError(f"option {given[0]} is for upserts: set the option mode=upsert, or remove it")
        return None
    key = options.names("key")
    if not key:
        raise OptionError("mode=upsert needs the option key: the columns that name a row, with commas")
    try:
        retention_ms = parse_duration_ms(options.text("delete_retention") or f"{DELETE_RETENTION_MS} ms")
    except ValueError as error:
        raise OptionError(f"option delete_retention: {error}") from None
    return MergeRules(
        key=key,
        order_by=options.names("order_by"),
        has_history=options.choice("history", HISTORIES) == SCD2,
        delete_retention_ms=retention_ms,
    )
