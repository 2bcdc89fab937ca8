"""SQL over topics, with the rights of the user: each query runs in a process of its own, with limits.

The broker may be installed without the extra `sql`: only the process imports it.
"""

import importlib.util
import ssl
from typing import Any, Final, Literal

import msgspec
from aiohttp import web

from penstock.client.aio import Client
from penstock.client.settings import TlsSettings
from penstock.console.broker_errors import BAD_REQUEST, TOO_MANY
from penstock.console.child_process import run_module
from penstock.console.refusals import Refused, bad_request
from penstock.console.web import CLIENT, SQL_QUERIES, answer, body_of
from penstock.distribution import pip_install

SECONDS_MAX: Final = 30.0
ROWS_MAX: Final = 1_000
_FILE_ROWS_MAX: Final = 1_000_000
_PAGE_BYTES_MAX: Final = 4 << 20
_FILE_BYTES_MAX: Final = 64 << 20
_QUERY_BYTES_MAX: Final = 64 << 10
_PACKAGES: Final = ("duckdb", "numpy", "pyarrow")
_TYPES: Final = {
    "csv": "text/csv",
    "json": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


class Query(msgspec.Struct, kw_only=True):
    query: str
    form: Literal["csv", "json", "parquet"] | None = None


async def run_query(request: web.Request) -> web.StreamResponse:
    """Answer with the first rows, or with all of them as a file."""
    wanted = await body_of(request, Query, _QUERY_BYTES_MAX)
    if missing := [name for name in _PACKAGES if importlib.util.find_spec(name) is None]:
        raise Refused(
            BAD_REQUEST,
            "NOT_INSTALLED",
            f"SQL needs the package {missing[0]} where the console runs: install it with `{pip_install('sql')}`.",
        )
    places = request.app[SQL_QUERIES]
    if places.locked():
        raise Refused(TOO_MANY, "TOO_MANY", "Other queries are running: try again in a moment.")
    async with places:
        head, rest = await _run(_request(request[CLIENT], wanted))
    if "refused" in head:
        raise bad_request(head["refused"])
    if wanted.form is None:
        return answer(head)
    name = f'attachment; filename="query.{wanted.form}"'
    headers = {"Content-Disposition": name, "Cache-Control": "no-store"}
    return web.Response(body=rest, content_type=_TYPES[wanted.form], headers=headers)


def _request(client: Client, wanted: Query) -> bytes:
    """Build what `penstock.sql.process` reads."""
    is_page = wanted.form is None
    return msgspec.json.encode(
        {
            "query": wanted.query,
            "form": wanted.form,
            "servers": client.settings.bootstrap,
            "tls": _tls(client),
            "sasl": client.security.logins,
            "rows_max": ROWS_MAX if is_page else _FILE_ROWS_MAX,
            "bytes_max": _PAGE_BYTES_MAX if is_page else _FILE_BYTES_MAX,
            "cpu_s_max": int(SECONDS_MAX * 2),
            "memory_limit": "256MB",
            "spill_limit": "1GB",
        }
    )


def _tls(client: Client) -> TlsSettings | None:
    """Return settings for the same trust: another process cannot have the context."""
    if client.settings.tls is not None:
        return client.settings.tls
    context = client.security.tls
    if context is None:
        return None
    trusted = "".join(map(ssl.DER_cert_to_PEM_cert, context.get_ca_certs(binary_form=True)))
    return TlsSettings(ca_pem=trusted or None, checks_host_name=context.check_hostname)


async def _run(request: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        output, is_whole = await run_module("penstock.sql.process", request, SECONDS_MAX)
    except TimeoutError:
        raise bad_request(
            f"The query took longer than {SECONDS_MAX:.0f} s: narrow it, for instance by _timestamp, or run it with "
            "`penstock sql`."
        ) from None
    line, _, rest = output.partition(b"\n")
    if not is_whole or not line:
        raise bad_request("The query needs more memory or processor time than the console gives it.")
    head: dict[str, Any] = msgspec.json.decode(line)
    return head, rest


ROUTES = (("POST", "sql", run_query),)
