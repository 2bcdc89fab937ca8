"""(b) A producer with one request in flight, against a bare loop of write and fdatasync."""

from penstock_bench import disk, frames
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings, quantile
from penstock_bench.librdkafka_clients import LoneProducer
from penstock_bench.raw_client import RawClient

_TOPIC = "lone"
_MESSAGE_BYTES = (100, 1024)
_LOOP = "bare fdatasync loop"
_GROWN_LOOP = "bare fdatasync loop in a file grown beforehand"
_GROWN_BYTES = 64 << 20


def run(bench: Bench) -> Findings:
    cells = Cells()
    topics = {_TOPIC: 1, f"{_TOPIC}-librdkafka": 1}
    with bench.broker(topics) as (server, _), RawClient(server.address) as client:
        librdkafka = LoneProducer(server.bootstrap, f"{_TOPIC}-librdkafka")
        for message_bytes in _MESSAGE_BYTES:
            batch = frames.batch(message_bytes, 1)
            frame = frames.produce_frame(_TOPIC, [0], batch)
            client.produce_for(frame, min(0.3, bench.scale.round_s))  # first requests pay for imports
            for _ in bench.rounds(f"lone producer, {message_bytes} B"):
                duration_s = bench.scale.round_s
                path = bench.path("loop")
                _add(cells, _LOOP, message_bytes, disk.sync_loop(path, batch, duration_s))
                grown = disk.sync_loop(path, batch, duration_s, grown_to_bytes=_GROWN_BYTES)
                _add(cells, _GROWN_LOOP, message_bytes, grown)
                cpu_s = server.cpu_s()
                count, latencies = client.produce_for(frame, duration_s)
                cells.add(
                    f"broker CPU, raw client, {message_bytes} B",
                    (server.cpu_s() - cpu_s) / count * 1e6,
                    "µs/request",
                )
                _add(cells, "raw client", message_bytes, (count, latencies))
                _add(cells, "librdkafka", message_bytes, librdkafka.produce_for(message_bytes, duration_s))
    ratios = tuple(
        cells.ratio(f"{who}, {size} B / {loop}", f"{who}, {size} B", f"{loop}, {size} B")
        for size in _MESSAGE_BYTES
        for who in ("raw client", "librdkafka")
        for loop in (_LOOP, _GROWN_LOOP)
    )
    return Findings(ratios=ratios, figures=cells.figures())


def _add(cells: Cells, who: str, message_bytes: int, measured: tuple[int, list[float]]) -> None:
    count, latencies = measured
    cells.add(f"{who}, {message_bytes} B", count / sum(latencies), "/s")
    cells.add(f"{who}, {message_bytes} B, p50", quantile(latencies, 0.5) * 1e6, "µs")
    cells.add(f"{who}, {message_bytes} B, p99", quantile(latencies, 0.99) * 1e6, "µs")
