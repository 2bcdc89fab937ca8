"""The options of `format("penstock_lake")`: one table, from which they are read and refused."""

from collections.abc import Mapping

import msgspec

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import Compression
from penstock.spark.lake.formats import local_path
from penstock.spark.lake.table import FORMATS, Format

_COMPRESSIONS: tuple[Compression, ...] = ("zstd", "snappy", "gzip", "lz4", "none")
_MEBIBYTE = 1 << 20


class LakeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Names are Spark's in either spelling: `merge_schema` and `mergeSchema` are one option."""

    path: str
    table_format: Format | None = None
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = False
    query_id: str | None = None
    batch_id: int | None = None
    compression: Compression = "zstd"
    file_size_bytes: int = 128 * _MEBIBYTE
    columns: tuple[str, ...] = ()
    push_filters: bool = False


def parse_options(given: Mapping[str, str]) -> LakeOptions:
    """Options of other parts of Spark come along and are left alone."""
    known = {name.replace("_", "").lower(): value for name, value in given.items()}
    path = known.get("path")
    if not path:
        raise TableError(
            "no path: use .save(path), .start(path) or .load(path); "
            "Spark does not hand the location of a catalog table over to a Python sink"
        )
    batch_id = known.get("batchid")
    return LakeOptions(
        path=local_path(path),
        table_format=_format(known.get("tableformat")),
        partition_by=_list(known.get("partitionby")),
        merge_schema=_boolean("merge_schema", known.get("mergeschema", "false")),
        query_id=known.get("queryid") or None,
        batch_id=None if batch_id is None else _number("batch_id", batch_id, least=0),
        compression=_compression(known.get("compression", "zstd")),
        file_size_bytes=_number("file_size_mb", known.get("filesizemb", "128"), least=1) * _MEBIBYTE,
        columns=_list(known.get("columns")),
        push_filters=_boolean("push_filters", known.get("pushfilters", "false")),
    )


def _format(text: str | None) -> Format | None:
    if text is None:
        return None
    for known in FORMATS:
        if text.lower() == known:
            return known
    raise TableError(f"table_format is {', '.join(FORMATS)}, not {text!r}")


def _compression(text: str) -> Compression:
    for known in _COMPRESSIONS:
        if text.lower() == known:
            return known
    raise TableError(f"compression is one of {', '.join(_COMPRESSIONS)}, not {text!r}")


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise TableError(f"{name} is true or false, not {text!r}")
    return text.lower() == "true"


def _number(name: str, text: str, *, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise TableError(f"{name} is a whole number of at least {least}, not {text!r}")
    return number
