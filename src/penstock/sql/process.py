"""Runs one query for the console, in a process of its own with limits: `python -m penstock.sql.process`.

Standard input has the request as JSON, standard output one line of JSON, and for a file the file behind it. The line is
`{"columns": …, "rows": …}`, `{"file": true}` or `{"refused": "the reason"}`. The request has the credentials of the
console's user, so the query reads what this user may read.
"""

import io
import itertools
import resource
import sys
from typing import Any, Final

import msgspec

from penstock.client.blocking.client import BlockingClient
from penstock.client.errors import AuthenticationFailed, ClientError
from penstock.client.settings import ClientSettings, SaslSettings, TlsSettings
from penstock.sql import CLIENT_DEFAULTS
from penstock.sql.errors import SqlError
from penstock.sql.result import Result
from penstock.sql.session import Session, SessionSettings
from penstock.sql.writers import FileForm, cell_text, open_writer, rows_of

_ADDRESS_SPACE_BYTES_MAX: Final = 4 << 30  # much of it is mapped and never used
_DEADLINE_MS: Final = "8000"
_BATCH_ROWS: Final = 2048


class SqlRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`sasl` are tried in order until the broker accepts one. Without a `form` the answer is for a page."""

    query: str
    servers: str
    tls: TlsSettings | None = None
    sasl: tuple[SaslSettings, ...] = ()
    form: FileForm | None = None
    rows_max: int
    bytes_max: int
    cpu_s_max: int
    memory_limit: str
    spill_limit: str


def main() -> None:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=SqlRequest)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES_MAX, _ADDRESS_SPACE_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (request.cpu_s_max, request.cpu_s_max))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = sys.stdout.buffer
    try:
        for line in _answer(request):
            out.write(line)
    except (SqlError, ClientError, MemoryError) as error:
        reason = " ".join(str(error).split()) or "the query needs more memory than the console gives it"
        out.write(msgspec.json.encode({"refused": reason}) + b"\n")


def _answer(request: SqlRequest) -> list[bytes]:
    settings = SessionSettings(
        allows_paths=False, memory_limit=request.memory_limit, spill_limit=request.spill_limit, threads=2
    )
    with Session(_client(request), settings) as session:
        result = session.sql(request.query)
        if request.form is None:
            return [msgspec.json.encode(_page(result, request)) + b"\n"]
        return [b'{"file": true}\n', _file(result, request, request.form)]


def _client(request: SqlRequest) -> BlockingClient:
    properties = {
        **CLIENT_DEFAULTS,
        "bootstrap.servers": request.servers,
        "default.api.timeout.ms": _DEADLINE_MS,
    }
    plain = msgspec.structs.replace(ClientSettings.from_properties(properties), tls=request.tls)
    refusal: AuthenticationFailed | None = None
    for login in request.sasl:
        client = BlockingClient(msgspec.structs.replace(plain, sasl=login))
        try:
            client.topics([""])
        except AuthenticationFailed as failure:
            client.close()
            refusal = failure
        else:
            return client
    if refusal is not None:
        raise refusal
    return BlockingClient(plain)


def _page(result: Result, request: SqlRequest) -> dict[str, Any]:
    """Return the first rows: numbers as numbers that a chart can draw, all else as text."""
    rows: list[list[Any]] = []
    size = 0
    for row in itertools.islice(_rows(result), request.rows_max + 1):
        cells = [value if isinstance(value, int | float) else cell_text(value) for value in row]
        size += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        if size > request.bytes_max:
            break
        rows.append([_exact(cell) for cell in cells])
    is_cut = size > request.bytes_max or len(rows) > request.rows_max
    return {
        "columns": [
            {"name": name, "type": kind} for name, kind in zip(result.columns, result.types, strict=True)
        ],
        "rows": rows[: request.rows_max],
        "isCut": is_cut,
        "stats": [
            {"topic": each.topic, "records": each.records_scanned, "bytes": each.bytes_fetched}
            for each in result.stats
        ],
    }


def _exact(cell: Any) -> Any:
    """Numbers that JavaScript would round, or does not have, are text."""
    is_large = isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) > 2**53
    is_special = isinstance(cell, float) and cell - cell != 0
    return str(cell) if is_large or is_special else cell


def _rows(result: Result) -> Any:
    for batch in result.batches(_BATCH_ROWS):
        yield from rows_of(batch)


def _file(result: Result, request: SqlRequest, form: FileForm) -> bytes:
    out = io.BytesIO()
    writer = open_writer(form, out, result.schema)
    left = request.rows_max
    for batch in result.batches(_BATCH_ROWS):
        writer.write(batch.slice(0, left))
        left -= batch.num_rows
        if left < 0 or out.tell() > request.bytes_max:
            raise SqlError(
                f"the file would have more than {request.rows_max:,} rows or {request.bytes_max >> 20} MiB: "
                "narrow the query, or run it with `penstock sql`"
            )
    writer.close()
    return out.getvalue()


if __name__ == "__main__":
    main()
