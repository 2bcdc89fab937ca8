"""(e) Produce requests a second from a generator that is not the limit, against a server that does nothing."""

import os
from collections.abc import Callable

from penstock.cli.bench import frames
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Section
from penstock.cli.bench.load_generator import LoadGenerator
from penstock.cli.bench.process import start_null_server

KEY = "e"
TITLE = "Raw Produce requests"
METHOD = (
    "4 connections with 16 requests in flight each send frames built beforehand (acks=all), one batch in each, to one "
    "partition and to 4. The reference is the same generator against a server on the same loop that reads frames and "
    "answers them with fixed bytes: the ceiling that the generator and the loopback set."
)
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


def run(bench: Bench) -> Section:
    cells = Cells()
    shape = frames.AnswerShape(_TOPIC)
    with (
        bench.brokers({_TOPIC: _CONNECTIONS}) as servers,
        start_null_server(shape.size_bytes, bench.path("null.log")) as null,
    ):
        for kind, make in _BATCHES.items():
            batch = make()
            spread = [frames.produce_frame(_TOPIC, [p], batch) for p in range(_CONNECTIONS)]
            for _ in bench.rounds(f"raw Produce requests, {kind}"):
                targets = [(f"null server, {kind}", null, spread)]
                for mark, server in servers.items():
                    targets.append((f"{kind}, 1 partition{mark}", server, spread[:1] * _CONNECTIONS))
                    targets.append((f"{kind}, 4 partitions{mark}", server, spread))
                for label, target, load_frames in targets:
                    cpu_s = target.cpu_s()
                    with LoadGenerator(target.address, load_frames, shape, _WINDOW) as generator:
                        load = generator.run(duration_s=bench.scale.round_s)
                    cpu_s = target.cpu_s() - cpu_s
                    cells.add(label, load.rate, "requests/s")
                    cells.add(f"{label}, data", load.rate * len(batch) / 1e6, "MB/s")
                    cells.add(f"{label}, CPU", cpu_s / load.acknowledged * 1e6, "µs/request")
    ratios = tuple(
        cells.ratio(f"{kind}, {on}{mark} / null server", f"{kind}, {on}{mark}", f"null server, {kind}")
        for kind in _BATCHES
        for mark in servers
        for on in ("1 partition", "4 partitions")
    )
    cores = len(os.sched_getaffinity(0))
    notes = (f"Generator and broker share {cores} cores.",)
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=ratios, figures=cells.figures(), notes=notes)
