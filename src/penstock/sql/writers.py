"""Rows of a query as CSV, JSON lines, Parquet or an Arrow stream."""

import csv
import io
from datetime import date, datetime, time
from io import IOBase
from typing import IO, Any, Literal, Protocol, cast

import msgspec

FileForm = Literal["csv", "json", "parquet", "arrow"]


class Writer(Protocol):
    def write(self, batch: Any) -> None:
        """Write a record batch of Arrow."""

    def close(self) -> None: ...


class CsvWriter:
    def __init__(self, out: IO[bytes], columns: list[str]) -> None:
        self._out = out
        self._text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, lineterminator="\n")
        self._csv.writerow(columns)

    def write(self, batch: Any) -> None:
        self._csv.writerows([cell_text(value) for value in row] for row in rows_of(batch))

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


class JsonWriter:
    """One object per line. Bytes are text, or base64 in an object if they are not UTF-8."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._encoder = msgspec.json.Encoder(decimal_format="number")

    def write(self, batch: Any) -> None:
        lines = (self._encoder.encode(json_ready(row)) + b"\n" for row in batch.to_pylist())
        self._out.write(b"".join(lines))
        self._out.flush()

    def close(self) -> None:
        self._out.flush()


class ArrowWriter:
    """`writer` is one of Arrow's."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, batch: Any) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


def open_writer(form: FileForm, out: IO[bytes], schema: Any) -> Writer:
    if form == "csv":
        return CsvWriter(out, schema.names)
    if form == "json":
        return JsonWriter(out)
    if form == "parquet":
        import pyarrow.parquet  # noqa: PLC0415 - slow to import, and rarely needed

        return ArrowWriter(pyarrow.parquet.ParquetWriter(out, schema))
    import pyarrow.ipc  # noqa: PLC0415 - likewise

    return ArrowWriter(pyarrow.ipc.new_stream(cast("IOBase", out), schema))


def rows_of(batch: Any) -> Any:
    columns = [column.to_pylist() for column in batch.columns]
    return zip(*columns, strict=True) if columns else ()


def cell_text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds" if value.microsecond % 1000 == 0 else "auto")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return msgspec.json.encode(json_ready(value)).decode()
    return str(value)


def json_ready(value: Any) -> Any:
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, dict):
        return {str(key): json_ready(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_ready(each) for each in value]
    if isinstance(value, tuple):  # an entry of a map
        return [json_ready(each) for each in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "0x" + value.hex()
