"""Parses the options of `format("penstock_lake")`."""

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import Compression
from penstock.spark.lake.formats import TABLE_FORMATS, local_path

_COMPRESSIONS: tuple[Compression, ...] = ("zstd", "snappy", "gzip", "lz4", "none")
_MEBIBYTE = 1 << 20


class LakeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Either spelling works: `merge_schema` and `mergeSchema` are one option."""

    path: str
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
    """Parse the known options; those of other parts of Spark are ignored."""
    options = _Given(given)
    path = options.text("path")
    if not path:
        raise TableError(
            "no path: use .save(path), .start(path) or .load(path); "
            "Spark does not pass the location of a catalog table to a Python sink"
        )
    return LakeOptions(
        path=local_path(path),
        table_format=options.choice("table_format", tuple(TABLE_FORMATS)),
        partition_by=options.names("partition_by"),
        merge_schema=options.choice("merge_schema", ("true", "false")) == "true",
        query_id=options.text("query_id") or None,
        batch_id=options.number("batch_id", least=0),
        compression=cast("Compression", options.choice("compression", _COMPRESSIONS) or "zstd"),
        file_size_bytes=(options.number("file_size_mb", least=1) or 128) * _MEBIBYTE,
        columns=options.names("columns"),
        push_filters=options.choice("push_filters", ("true", "false")) == "true",
    )


class _Given:
    """The options of a user, in either spelling."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._values = {_folded(name): value for name, value in given.items()}

    def text(self, name: str) -> str | None:
        return self._values.get(_folded(name))

    def names(self, name: str) -> tuple[str, ...]:
        return tuple(each.strip() for each in (self.text(name) or "").split(",") if each.strip())

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        text = self.text(name)
        if text is not None and text.lower() not in choices:
            raise TableError(f"{name} is one of {', '.join(choices)}, not {text!r}")
        return text and text.lower()

    def number(self, name: str, *, least: int) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        if not text.isdecimal() or int(text) < least:
            raise TableError(f"{name} is a whole number of at least {least}, not {text!r}")
        return int(text)


def _folded(name: str) -> str:
    return name.replace("_", "").lower()
