"""(e) Produce requests a second from a generator that is not the limit, against a server that does nothing."""

import os
from collections.abc import Callable

from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.load_generator import LoadGenerator
from penstock_bench.process import start_null_server

_TOPIC = "rate"
_CONNECTIONS = 4
_WINDOW = 16
_BATCHES: dict[str, Callable[[], bytes]] = {
    "1 message of 100 B": lambda: frames.batch(100, 1),
    "16 of 1 KiB": lambda: frames.batch(1024, 16),
    "128 of 1 KiB": lambda: frames.batch(1024, 128),
    "160 of 100 B": lambda: frames.batch(100, 160),
    "160 keyed, of 50 to 150 B": lambda: frames.varied_batch(100, 160),
}


def run(bench: Bench) -> Findings:
    cells = Cells()
    shape = frames.AnswerShape(_TOPIC)
    with (
        bench.broker({_TOPIC: _CONNECTIONS}) as (server, _),
        start_null_server(shape.size_bytes, bench.path("null.log")) as null,
    ):
        for kind, make in _BATCHES.items():
            batch = make()
            spread = [frames.produce_frame(_TOPIC, [p], batch) for p in range(_CONNECTIONS)]
            for _ in bench.rounds(f"raw Produce requests, {kind}"):
                targets = [
                    (f"null server, {kind}", null, spread),
                    (f"{kind}, 1 partition", server, spread[:1] * _CONNECTIONS),
                    (f"{kind}, 4 partitions", server, spread),
                ]
                for label, target, load_frames in targets:
                    cpu_s = target.cpu_s()
                    with LoadGenerator(target.address, load_frames, shape, _WINDOW) as generator:
                        load = generator.run(duration_s=bench.scale.round_s)
                    cpu_s = target.cpu_s() - cpu_s
                    cells.add(label, load.rate, "requests/s")
                    cells.add(f"{label}, data", load.rate * len(batch) / 1e6, "MB/s")
                    cells.add(f"{label}, CPU", cpu_s / load.acknowledged * 1e6, "µs/request")
    ratios = tuple(
        cells.ratio(f"{kind}, {on} / null server", f"{kind}, {on}", f"null server, {kind}")
        for kind in _BATCHES
        for on in ("1 partition", "4 partitions")
    )
    cores = len(os.sched_getaffinity(0))
    notes = (f"Generator and broker share {cores} cores.",)
    return Findings(ratios=ratios, figures=cells.figures(), notes=notes)
