"""(b) A producer with one request in flight, against a bare loop of write and fdatasync."""

import contextlib

from penstock.cli.bench import disk, frames
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Goal, Section, quantile
from penstock.cli.bench.librdkafka_clients import LoneProducer
from penstock.cli.bench.raw_client import RawClient

KEY = "b"
TITLE = "A lone synchronous producer"
METHOD = (
    "One message at a time, each acknowledged before the next is sent. The raw client sends frames built beforehand "
    "over a blocking socket; librdkafka is `produce` and `flush` with `linger.ms=0`. The reference appends the same "
    "batch to a file on the same filesystem and calls `fdatasync`, in a loop; the stricter one does so in a file "
    "that was grown beforehand, where no sync has to journal a new size."
)
_TOPIC = "lone"
_MESSAGE_BYTES = (100, 1024)
_LOOP = "bare fdatasync loop"
_GROWN_LOOP = "bare fdatasync loop in a file grown beforehand"
_GROWN_BYTES = 64 << 20
_GOAL = Goal(side="at least", bound=0.7)


def run(bench: Bench) -> Section:
    cells = Cells()
    with bench.brokers({_TOPIC: 1, f"{_TOPIC}-librdkafka": 1}) as servers, contextlib.ExitStack() as stack:
        clients = {mark: stack.enter_context(RawClient(server.address)) for mark, server in servers.items()}
        librdkafkas = {
            mark: LoneProducer(server.bootstrap, f"{_TOPIC}-librdkafka") for mark, server in servers.items()
        }
        for message_bytes in _MESSAGE_BYTES:
            batch = frames.batch(message_bytes, 1)
            frame = frames.produce_frame(_TOPIC, [0], batch)
            for client in clients.values():
                client.produce_for(frame, min(0.3, bench.scale.round_s))  # first requests pay for imports
            for _ in bench.rounds(f"lone producer, {message_bytes} B"):
                duration_s = bench.scale.round_s
                path = bench.path("loop")
                _add(cells, _LOOP, message_bytes, disk.sync_loop(path, batch, duration_s))
                grown = disk.sync_loop(path, batch, duration_s, grown_to_bytes=_GROWN_BYTES)
                _add(cells, _GROWN_LOOP, message_bytes, grown)
                for mark, server in servers.items():
                    cpu_s = server.cpu_s()
                    count, latencies = clients[mark].produce_for(frame, duration_s)
                    cells.add(
                        f"broker CPU, raw client{mark}, {message_bytes} B",
                        (server.cpu_s() - cpu_s) / count * 1e6,
                        "µs/request",
                    )
                    _add(cells, f"raw client{mark}", message_bytes, (count, latencies))
                    produced = librdkafkas[mark].produce_for(message_bytes, duration_s)
                    _add(cells, f"librdkafka{mark}", message_bytes, produced)
    ratios = tuple(
        cells.ratio(
            f"{client}{mark}, {size} B / {loop}",
            f"{client}{mark}, {size} B",
            f"{loop}, {size} B",
            _GOAL if client == "raw client" and loop == _LOOP else None,
        )
        for size in _MESSAGE_BYTES
        for client in ("raw client", "librdkafka")
        for mark in servers
        for loop in (_LOOP, _GROWN_LOOP)
    )
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=ratios, figures=cells.figures())


def _add(cells: Cells, who: str, message_bytes: int, measured: tuple[int, list[float]]) -> None:
    count, latencies = measured
    cells.add(f"{who}, {message_bytes} B", count / sum(latencies), "/s")
    cells.add(f"{who}, {message_bytes} B, p50", quantile(latencies, 0.5) * 1e6, "µs")
    cells.add(f"{who}, {message_bytes} B, p99", quantile(latencies, 0.99) * 1e6, "µs")
