"""(l), (m), (n), (r): publishing beside the peers, alone, together, in batches, and over many connections."""

import shutil
import time

from penstock_bench import disk, frames
from penstock_bench.context import Bench
from penstock_bench.peers.agents import WARM_UP_MESSAGES, bulk, lone, run
from penstock_bench.peers.targets import BARE_LOOP, KAFKA, LOOP, OTHERS, Target
from penstock_bench.peers.tasks import Where
from penstock_bench.peers.wire import wire_load
from penstock_bench.syncs import SyncCounter


def _measure_loop(bench: Bench, what: str, message_bytes: int) -> list[float]:
    """Measure the reference: a bare loop of write and fdatasync."""
    batch = frames.batch(message_bytes, 1)
    latencies = disk.sync_loop(bench.path("loop"), batch, bench.scale.peers.round_s)
    bench.board.add(what, len(latencies) / sum(latencies), "/s", BARE_LOOP)
    return latencies


# -- (l) a lone synchronous publisher

_LONE_BYTES = (100, 1024)


def publish_alone(bench: Bench) -> None:
    board, duration_s = bench.board, bench.scale.peers.round_s

    def measure(target: Target, where: Where) -> None:
        for size in _LONE_BYTES:
            outcome = run(lone, where, duration_s, size)
            board.add(f"{size} B", outcome.rate, "/s", target)
            board.add_latencies(f"{size} B", outcome.latencies_s, "µs", target)

    def measure_reference() -> None:
        for size in _LONE_BYTES:
            latencies = _measure_loop(bench, f"{size} B", size)
            board.add_latencies(f"{size} B", latencies, "µs", BARE_LOOP)

    def count_syncs(target: Target, where: Where) -> None:
        """Count the syncs for each message in the kernel: they prove the durability of an acknowledgement."""
        counter = SyncCounter(*bench.fleet.running(target).pids())
        try:
            outcome = run(lone, where, duration_s / 4)
        finally:
            syncs = counter.stop(0)
        if syncs.is_counted or shutil.which("perf"):
            sent = outcome.count + WARM_UP_MESSAGES
            board.add("syncs to disk for a message", syncs.count / sent, "", target)

    bench.compare(
        "lone publish", measure, warm_up=True, prepare=count_syncs, measure_reference=measure_reference
    )
    for size in _LONE_BYTES:
        board.compare(f"{size} B", *OTHERS, *KAFKA, *LOOP)


# -- (m) many concurrent publishers: one sync can serve all who wait, where the server does so

_ACKNOWLEDGED = "messages acknowledged"


def publish_together(bench: Bench) -> None:
    board, sizes = bench.board, bench.scale.peers

    def measure(target: Target, where: Where) -> None:
        with wire_load([where] * sizes.publishers) as publishers, bench.fleet.running(target).usage() as used:
            load = publishers.run(sizes.round_s)
        board.add(_ACKNOWLEDGED, load.rate, "/s", target)
        board.add_latencies("acknowledged after", load.latencies_s, "ms", target)
        board.add("CPU", used.cpu_s / load.acknowledged * 1e6, "µs/message", target)

    def measure_reference() -> None:
        _measure_loop(bench, _ACKNOWLEDGED, 100)

    bench.compare("concurrent publishers", measure, warm_up=True, measure_reference=measure_reference)
    board.compare(_ACKNOWLEDGED, *OTHERS, *KAFKA, *LOOP)


# -- (n) batched publishing: how much goes through, and what it costs the server

_BATCHED_BYTES = (100, 1024, 65536)


def publish_batches(bench: Bench) -> None:
    board = bench.board

    def measure(target: Target, where: Where) -> None:
        for size in _BATCHED_BYTES:
            with bench.fleet.running(target).usage() as used:
                outcome = run(bulk, where, size, bench.scale.peers.round_s)
            of = f"{size} B"
            board.add(of, outcome.rate, "messages/s", target)
            board.add(f"{of}, data", outcome.rate * size / 1e6, "MB/s", target)
            board.add(f"{of}, CPU", used.cpu_s / outcome.count * 1e6, "s per million messages", target)
            board.add(f"{of}, CPU for a GB", used.cpu_s / (outcome.count * size) * 1e9, "s per GB", target)

    bench.compare("batched publish", measure, warm_up=True)
    for size in _BATCHED_BYTES:
        board.compare(f"{size} B", *OTHERS, *KAFKA)
        board.compare(f"{size} B, CPU for a GB", *KAFKA)


# -- (r) a thousand connections, and what a message costs among one and among a thousand

_AT_ONCE = "messages acknowledged, all at once"
_ONE = "in turn, 1 connection"


def open_connections(bench: Bench) -> None:
    board = bench.board
    count = bench.scale.peers.connections
    many = f"in turn, {count:,} connections"
    duration_s = bench.scale.peers.round_s / 2

    def add(what: str, latencies_s: list[float], cpu_s: float, target: Target) -> None:
        board.add_latencies(what, latencies_s, "µs", target)
        board.add(f"{what}, CPU", cpu_s / len(latencies_s) * 1e6, "µs/message", target)

    def measure(target: Target, where: Where) -> None:
        server = bench.fleet.running(target)
        before_mib = server.memory_mib()
        with wire_load([where]) as one:
            one.run_in_turn(duration_s / 4)
            with server.usage() as used:
                load = one.run_in_turn(duration_s)
            add(_ONE, load.latencies_s, used.cpu_s, target)
        began = time.perf_counter()
        with wire_load([where] * count) as publishers:
            board.add("opened", count / (time.perf_counter() - began), "/s", target)
            board.add(_AT_ONCE, publishers.run(duration_s).rate, "/s", target)
            with server.usage() as used:
                load = publishers.run_in_turn(duration_s)
            add(many, load.latencies_s, used.cpu_s, target)
            memory_kib = (server.memory_mib() - before_mib) * 1024
            board.add("memory", max(0.0, memory_kib) / count, "KiB/connection", target)

    bench.compare(f"{count:,} connections", measure)
    board.compare(_AT_ONCE, *OTHERS, *KAFKA)
    for target in bench.fleet.targets():
        for what in ("p50", "CPU"):
            label = f"{target.name}, {what} of a message: {count:,} / 1 connection"
            board.ratio(label, f"{many}, {what}", f"{_ONE}, {what}", target.name)
