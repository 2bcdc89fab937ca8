"""Serves the metrics of a run to Prometheus."""

import socket
import threading
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from penstock.observability.exposition import CONTENT_TYPE, Family, Kind, text
from penstock.spark.pipeline.progress.status import RUNNING, MaintenanceStatus, QueryStatus, RunStatus

Samples = list[tuple[dict[str, str], float]]

# Name, type, help, field of QueryStatus. Fields in milliseconds are exported in seconds. Totals cover this run.
_METRICS: tuple[tuple[str, Kind, str, str], ...] = (
    ("rows_total", "counter", "Rows read", "rows"),
    ("input_rows_per_second", "gauge", "Rows that arrived a second, last batch", "input_rows_per_second"),
    (
        "processed_rows_per_second",
        "gauge",
        "Rows processed a second, last batch",
        "processed_rows_per_second",
    ),
    ("lag_records", "gauge", "Records not read yet", "lag_records"),
    ("lag_seconds", "gauge", "Age of the oldest record not read yet", "lag_seconds"),
    ("batch_duration_seconds", "gauge", "Duration of the last batch with rows", "batch_duration_ms"),
    ("last_batch_timestamp_seconds", "gauge", "Begin of the last batch", "last_batch_ms"),
    ("state_rows", "gauge", "Rows kept as state", "state_rows"),
    ("state_bytes", "gauge", "Memory of the state", "state_bytes"),
    ("late_rows_total", "counter", "Rows dropped because the watermark had passed them", "late_rows"),
    ("dead_letters_total", "counter", "Dead letters written", "dead_letters"),
    ("failures_total", "counter", "Failures of the query", "failures"),
)

# Of the tables that the pipeline looks after: name, type, help, field of MaintenanceStatus
_MAINTENANCE: tuple[tuple[str, Kind, str, str], ...] = (
    ("passes_total", "counter", "Passes of maintenance", "passes"),
    ("last_timestamp_seconds", "gauge", "End of the last pass", "last_ms"),
    ("files_merged_total", "counter", "Small files that were merged", "files_merged"),
    ("files_made_total", "counter", "Files that merging made", "files_made"),
    ("files_removed_total", "counter", "Files of older versions and failed writes removed", "files_removed"),
    ("conflicts_total", "counter", "Passes that gave way to a writer", "conflicts"),
    ("failures_total", "counter", "Passes that failed", "failures"),
)


def exposition(status: RunStatus) -> str:
    def samples(value_of: Callable[[QueryStatus], float | None]) -> Samples:
        values = ((query.name, value_of(query)) for query in status.queries)
        return [
            ({"pipeline": status.pipeline, "query": name}, value)
            for name, value in values
            if value is not None
        ]

    up = samples(lambda query: float(query.state == RUNNING))
    lines = [*text(_family("query_up", "gauge", "1 while the query runs"), up)]
    for name, kind, explanation, field in _METRICS:
        lines += text(_family(name, kind, explanation), samples(partial(_value, field)))
    broken = (
        ({"pipeline": status.pipeline, "query": query.name, "step": owner, "expectation": rule}, count)
        for query in status.queries
        for owner, counts in query.broken.items()
        for rule, count in counts.items()
    )
    lines += text(
        _family("expectation_broken_rows_total", "counter", "Rows that broke an expectation"), broken
    )
    for name, kind, explanation, field in _MAINTENANCE:
        passes = [
            ({"pipeline": status.pipeline, "output": each.output}, value)
            for each in status.maintenance
            if (value := _value(field, each)) is not None
        ]
        lines += text(_family(f"maintenance_{name}", kind, explanation), passes)
    return "".join(lines)


def _value(field: str, status: QueryStatus | MaintenanceStatus) -> float | None:
    value: float | None = getattr(status, field)
    return value / 1000 if value is not None and field.endswith("_ms") else value


def _family(name: str, kind: Kind, explanation: str) -> Family:
    return Family(name=f"penstock_pipeline_{name}", kind=kind, help=explanation)


class MetricsAddress(NamedTuple):
    host: str
    port: int  # 0: a free one


class MetricsServer:
    """Serves `GET /metrics` from a dedicated thread. A ValueError says why it cannot listen."""

    def __init__(self, address: MetricsAddress, status: Callable[[], RunStatus]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.partition("?")[0] != "/metrics":
                    self.send_error(HTTPStatus.NOT_FOUND, "the metrics are at /metrics")
                    return
                body = exposition(status()).encode()
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Do not log scrapes."""

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET

        try:
            self._server = Server(address, Handler)
        except OSError as error:
            raise ValueError(
                f"cannot serve metrics at {address.host}:{address.port}: {error.strerror or error}. Choose another "
                f"address with --metrics"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="pipeline-metrics", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
