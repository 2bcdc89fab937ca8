"""(c) Many synchronous producers at once, against one: one sync must serve all who wait."""

import contextlib
from collections.abc import Iterator, Sequence

from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings, quantile
from penstock_bench.load_generator import LoadGenerator
from penstock_bench.process import ServerProcess, start_broker_on_slow_disk
from penstock_bench.raw_client import RawClient

_CONNECTIONS = 64
_PARTITIONS = 1_000
_TOPIC = "group"
_ONE = "1 producer"
_MANY = "64 producers on 1 partition"
_APART = "64 producers on 64 partitions"
_SPREAD = f"64 producers on {_PARTITIONS:,} partitions"
_CPU = ", broker CPU"
_SLOW = ", syncs 1 ms longer"
_SLOW_SYNC_DELAY_S = 0.001


def run(bench: Bench) -> Findings:
    cells = Cells()
    shape = frames.AnswerShape(_TOPIC)
    kinds = _frames_by_kind()
    with bench.broker({_TOPIC: _PARTITIONS}) as (server, _), _on_slow_disk(bench) as slow_server:
        loads = [(kind, server, kind_frames) for kind, kind_frames in kinds.items()]
        loads += [(f"{kind}{_SLOW}", slow_server, kinds[kind]) for kind in (_ONE, _MANY)]
        for _, loaded, kind_frames in loads:
            _load(loaded, kind_frames, shape, min(0.3, bench.scale.round_s))
        for _ in bench.rounds("64 synchronous producers"):
            for kind, loaded, kind_frames in loads:
                cpu_s = loaded.cpu_s()
                rate, latencies = _load(loaded, kind_frames, shape, bench.scale.round_s)
                cpu_s = loaded.cpu_s() - cpu_s
                cells.add(kind, rate, "/s")
                cells.add(f"{kind}, p50", quantile(latencies, 0.5) * 1e3, "ms")
                cells.add(f"{kind}, p99", quantile(latencies, 0.99) * 1e3, "ms")
                cells.add(f"{kind}{_CPU}", cpu_s / len(latencies) * 1e6, "µs/request")
    ratios = [
        cells.ratio(f"{_MANY}{mark} / 1 producer", f"{_MANY}{mark}", f"{_ONE}{mark}") for mark in ("", _SLOW)
    ]
    for kind in (_APART, _SPREAD):
        ratios.append(cells.ratio(f"{kind} / on 1 partition", kind, _MANY))
        cpu = cells.ratio(f"{kind}{_CPU} / on 1 partition", kind + _CPU, _MANY + _CPU)
        ratios.append(cpu)
    return Findings(ratios=tuple(ratios), figures=cells.figures())


def _frames_by_kind() -> dict[str, Sequence[bytes]]:
    """Return the frames of each connection for each kind of load."""
    batch = frames.batch(100, 1)
    by_partition = [frames.produce_frame(_TOPIC, [p], batch) for p in range(_PARTITIONS)]
    return {
        _ONE: by_partition[:1],
        _MANY: by_partition[:1] * _CONNECTIONS,
        _APART: by_partition[:_CONNECTIONS],
        _SPREAD: [b"".join(by_partition[first::_CONNECTIONS]) for first in range(_CONNECTIONS)],
    }


@contextlib.contextmanager
def _on_slow_disk(bench: Bench) -> Iterator[ServerProcess]:
    """Run a broker whose syncs are slower, with the topic."""
    with (
        bench.directory() as data_dir,
        start_broker_on_slow_disk(
            data_dir, bench.path("broker.log"), sync_delay_s=_SLOW_SYNC_DELAY_S
        ) as server,
    ):
        with RawClient(server.address) as client:
            client.create_topics({_TOPIC: 1})
        yield server


def _load(
    server: ServerProcess, kind_frames: Sequence[bytes], shape: frames.AnswerShape, duration_s: float
) -> tuple[float, list[float]]:
    with LoadGenerator(server.address, kind_frames, shape, window=1) as generator:
        load = generator.run(duration_s=duration_s)
    return load.rate, load.latencies_s
