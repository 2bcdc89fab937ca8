"""(c) Many synchronous producers at once, against one: one sync must serve all who wait."""

import contextlib
from collections.abc import Iterator, Sequence

from penstock.cli.bench import frames
from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Goal, Section, quantile
from penstock.cli.bench.load_generator import LoadGenerator
from penstock.cli.bench.process import ServerProcess, builds, start_broker_on_slow_disk
from penstock.cli.bench.raw_client import RawClient

KEY = "c"
TITLE = "64 concurrent synchronous producers"
METHOD = (
    "64 connections from one process, each with one 100 B message in flight: all on one partition, each on a "
    "partition of its own, and in turn over 1,000 partitions. They are compared with one such connection through the "
    "same generator, and the three with each other: one sync serves every partition, so that many partitions should "
    "cost little more than one. The saving depends on the time that a sync takes: so the first two again on a broker "
    "whose syncs take a millisecond longer, as on many a network disk."
)
_CONNECTIONS = 64
_PARTITIONS = 1_000
_GOAL = Goal(side="at least", bound=10)
_TOPIC = "group"
_ONE = "1 producer"
_MANY = "64 producers on 1 partition"
_APART = "64 producers on 64 partitions"
_SPREAD = f"64 producers on {_PARTITIONS:,} partitions"
_CPU = ", broker CPU"
_KEPT = {_APART: Goal(side="at least", bound=0.7), _SPREAD: Goal(side="at least", bound=0.5)}
_CPU_KEPT = {_APART: Goal(side="at most", bound=1.5)}
_SLOW = ", syncs 1 ms longer"
_SLOW_SYNC_DELAY_S = 0.001


def run(bench: Bench) -> Section:
    cells = Cells()
    shape = frames.AnswerShape(_TOPIC)
    kinds = _frames_by_kind()
    with bench.brokers({_TOPIC: _PARTITIONS}) as servers, _on_slow_disks(bench) as slow_servers:
        loads = [
            (f"{kind}{mark}", server, kind_frames)
            for mark, server in servers.items()
            for kind, kind_frames in kinds.items()
        ]
        loads += [
            (f"{kind}{_SLOW}{mark}", server, kinds[kind])
            for mark, server in slow_servers.items()
            for kind in (_ONE, _MANY)
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
                cells.add(f"{kind}{_CPU}", cpu_s / len(latencies) * 1e6, "µs/request")
    marks = [*servers, *(f"{_SLOW}{build}" for build in slow_servers)]
    ratios = [
        cells.ratio(f"{_MANY}{mark} / 1 producer", f"{_MANY}{mark}", f"{_ONE}{mark}", _GOAL) for mark in marks
    ]
    for mark in servers:
        for kind in (_APART, _SPREAD):
            many, few = f"{kind}{mark}", f"{_MANY}{mark}"
            ratios.append(cells.ratio(f"{many} / on 1 partition", many, few, _KEPT.get(kind)))
            cpu = cells.ratio(f"{many}{_CPU} / on 1 partition", many + _CPU, few + _CPU, _CPU_KEPT.get(kind))
            ratios.append(cpu)
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=tuple(ratios), figures=cells.figures())


def _frames_by_kind() -> dict[str, Sequence[bytes]]:
    """For each kind of load, what every connection sends."""
    batch = frames.batch(100, 1)
    by_partition = [frames.produce_frame(_TOPIC, [p], batch) for p in range(_PARTITIONS)]
    return {
        _ONE: by_partition[:1],
        _MANY: by_partition[:1] * _CONNECTIONS,
        _APART: by_partition[:_CONNECTIONS],
        _SPREAD: [b"".join(by_partition[first::_CONNECTIONS]) for first in range(_CONNECTIONS)],
    }


@contextlib.contextmanager
def _on_slow_disks(bench: Bench) -> Iterator[dict[str, ServerProcess]]:
    """A broker of each build, with the topic; gone afterwards."""
    with contextlib.ExitStack() as stack:
        servers = {
            mark: stack.enter_context(
                start_broker_on_slow_disk(
                    stack.enter_context(bench.directory()),
                    bench.path("broker.log"),
                    python,
                    sync_delay_s=_SLOW_SYNC_DELAY_S,
                )
            )
            for mark, python in builds().items()
        }
        for server in servers.values():
            with RawClient(server.address) as client:
                client.create_topics({_TOPIC: 1})
        yield servers


def _load(
    server: ServerProcess, kind_frames: Sequence[bytes], shape: frames.AnswerShape, duration_s: float
) -> tuple[float, list[float]]:
    with LoadGenerator(server.address, kind_frames, shape, window=1) as generator:
        load = generator.run(duration_s=duration_s)
    return load.rate, load.latencies_s
