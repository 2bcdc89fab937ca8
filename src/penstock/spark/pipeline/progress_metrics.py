"""The numbers of a run for Prometheus: the text exposition format, served on the loopback interface."""

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from penstock.observability.exposition import CONTENT_TYPE, Family, Kind, text
from penstock.spark.pipeline.status import RUNNING, QueryStatus, RunStatus

# Name, type, help, value. Totals count since the run began, as those of any process.
_METRICS: tuple[tuple[str, Kind, str, Callable[[QueryStatus], float | None]], ...] = (
    ("query_up", "gauge", "1 while the query runs", lambda query: float(query.state == RUNNING)),
    ("rows_total", "counter", "Rows read", lambda query: query.rows),
    (
        "input_rows_per_second",
        "gauge",
        "Rows that arrived a second, last batch",
        lambda query: query.input_rows_per_second,
    ),
    (
        "processed_rows_per_second",
        "gauge",
        "Rows processed a second, last batch",
        lambda query: query.processed_rows_per_second,
    ),
    ("lag_records", "gauge", "Records not read yet", lambda query: query.lag_records),
    ("lag_seconds", "gauge", "Age of the oldest record not read yet", lambda query: query.lag_seconds),
    (
        "batch_duration_seconds",
        "gauge",
        "How long the last batch with rows took",
        lambda query: query.batch_duration_ms / 1000,
    ),
    (
        "last_batch_timestamp_seconds",
        "gauge",
        "When the last batch began",
        lambda query: None if query.last_batch_ms is None else query.last_batch_ms / 1000,
    ),
    ("state_rows", "gauge", "Rows kept as state", lambda query: query.state_rows),
    ("state_bytes", "gauge", "Memory of the state", lambda query: query.state_bytes),
    (
        "late_rows_total",
        "counter",
        "Rows dropped because the watermark had passed them",
        lambda query: query.late_rows,
    ),
    ("dead_letters_total", "counter", "Dead letters written", lambda query: query.dead_letters),
    ("failures_total", "counter", "Times that the query failed", lambda query: query.failures),
)


def exposition(status: RunStatus) -> str:
    """All metrics of a run."""
    lines: list[str] = []
    for name, kind, explanation, value_of in _METRICS:
        values = ((query, value_of(query)) for query in status.queries)
        lines += text(
            _family(name, kind, explanation),
            (
                ({"pipeline": status.pipeline, "query": query.name}, value)
                for query, value in values
                if value is not None
            ),
        )
    broken = (
        ({"pipeline": status.pipeline, "query": query.name, "step": owner, "expectation": rule}, count)
        for query in status.queries
        for owner, counts in query.broken.items()
        for rule, count in counts.items()
    )
    lines += text(
        _family("expectation_broken_rows_total", "counter", "Rows that broke an expectation"), broken
    )
    return "".join(lines)


def _family(name: str, kind: Kind, explanation: str) -> Family:
    return Family(name=f"penstock_pipeline_{name}", kind=kind, help=explanation)


class MetricsServer:
    """Answers `GET /metrics` from a thread of its own; port 0 takes a free one."""

    __slots__ = ("_server", "_thread")

    def __init__(self, port: int, status: Callable[[], RunStatus]) -> None:
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
                """A scrape every few seconds is not worth a line."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
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
