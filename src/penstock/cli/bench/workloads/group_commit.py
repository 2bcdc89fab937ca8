"""(c) Many synchronous producers at once, against one: one sync must serve all who wait."""

from collections.abc import Sequence

from penstock.cli.bench import frames
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Goal, Section, quantile
from penstock.cli.bench.load_generator import LoadGenerator
from penstock.cli.bench.process import ServerProcess

KEY = "c"
TITLE = "64 concurrent synchronous producers"
METHOD = (
    "64 connections from one process, each with one 100 B message in flight, on one partition and on 64 partitions, "
    "against one such connection through the same generator."
)
_CONNECTIONS = 64
_GOAL = Goal(side="at least", bound=10)
_TOPIC = "group"


def run(bench: Bench) -> Section:
    cells = Cells()
    shape = frames.AnswerShape(_TOPIC)
    batch = frames.batch(100, 1)
    by_partition = [frames.produce_frame(_TOPIC, [p], batch) for p in range(_CONNECTIONS)]
    kinds: dict[str, Sequence[bytes]] = {
        "1 producer": by_partition[:1],
        "64 producers on 1 partition": by_partition[:1] * _CONNECTIONS,
        "64 producers on 64 partitions": by_partition,
    }
    with bench.brokers({_TOPIC: _CONNECTIONS}) as servers:
        loads = [
            (f"{kind}{mark}", server, kind_frames)
            for mark, server in servers.items()
            for kind, kind_frames in kinds.items()
        ]
        for _, server, kind_frames in loads:
            _load(server, kind_frames, shape, min(0.3, bench.scale.round_s))
        for _ in bench.rounds("64 synchronous producers"):
            for kind, server, kind_frames in loads:
                cpu_s = server.cpu_s()
                rate, latencies = _load(server, kind_frames, shape, bench.scale.round_s)
                cpu_s = server.cpu_s() - cpu_s
                cells.add(kind, rate, "/s")
                cells.add(f"{kind}, p50", quantile(latencies, 0.5) * 1e3, "ms")
                cells.add(f"{kind}, p99", quantile(latencies, 0.99) * 1e3, "ms")
                cells.add(f"{kind}, broker CPU", cpu_s / len(latencies) * 1e6, "µs/request")
    ratios = tuple(
        cells.ratio(f"{kind}{mark} / 1 producer", f"{kind}{mark}", f"1 producer{mark}", _GOAL)
        for mark in servers
        for kind in kinds
        if kind != "1 producer"
    )
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=ratios, figures=cells.figures())


def _load(
    server: ServerProcess, kind_frames: Sequence[bytes], shape: frames.AnswerShape, duration_s: float
) -> tuple[float, list[float]]:
    with LoadGenerator(server.address, kind_frames, shape, window=1) as generator:
        load = generator.run(duration_s=duration_s)
    return load.rate, load.latencies_s
