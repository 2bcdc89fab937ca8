"""(s) Thousands of partitions, beside Kafka, and what a message costs among one and among a thousand."""

import time

from penstock_bench import frames
from penstock_bench.context import Bench
from penstock_bench.figures import Findings, Ratio, quantile
from penstock_bench.peers import pairs
from penstock_bench.peers.board import Board
from penstock_bench.peers.fleet import PEER_FAILURES
from penstock_bench.peers.servers.running import PeerProcess
from penstock_bench.peers.starting import start_to_first
from penstock_bench.peers.targets import Target, one_of_each_server, speaks_kafka
from penstock_bench.peers.tasks import Where
from penstock_bench.peers.wire.load import WireLoad
from penstock_bench.raw_client import RawClient, UnexpectedAnswer

_STREAM = "start"
_AT_ONCE = 100
_LEADERS_WITHIN_S = 60.0
_START_WITHIN_S = 240.0


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    targets = one_of_each_server(bench.fleet.targets(speaks_kafka))
    for count in bench.scale.peers.partition_counts:
        for target in targets:
            bench.log(f"{count:,} partitions on {target.name}")
            try:
                _measure(bench, board, target, count)
            except (*PEER_FAILURES, UnexpectedAnswer) as error:
                board.fail(target, f"{count:,} partitions: {error}")
    ratios = [
        ratio
        for count in bench.scale.peers.partition_counts
        for what in (_created(count), _memory(count), _restarted(count), _killed(count))
        for ratio in pairs.against_kafka(board, what)
    ]
    return board.findings((*ratios, *_measure_growth(bench, board)))


def _measure(bench: Bench, board: Board, target: Target, count: int) -> None:
    with bench.directory() as directory:
        running, _ = start_to_first(bench.fleet, target, directory, _STREAM)
        with running:
            _create_and_fill(board, target, running, count)
            board.add(target, f"{count:,} partitions: clean stop", running.stop(), "s")
        for what, is_last in ((_restarted(count), False), (_killed(count), True)):
            running, took_s = start_to_first(
                bench.fleet, target, directory, _STREAM, within_s=_START_WITHIN_S
            )
            with running:
                board.add(target, what, took_s, "s")
                if not is_last:
                    _produce_to_each(running, count)
                running.kill()


def _create_and_fill(board: Board, target: Target, running: PeerProcess, count: int) -> None:
    before_mib = running.rss_mib()
    began = time.perf_counter()
    with RawClient(running.address) as client:
        for number in range(count // _AT_ONCE):
            client.create_topics({f"many-{number}": _AT_ONCE})
        board.add(target, _created(count), time.perf_counter() - began, "s")
    began = time.perf_counter()
    _produce_to_each(running, count)
    board.add(target, f"{count:,} partitions: one message to each", time.perf_counter() - began, "s")
    board.add(target, _memory(count), (running.rss_mib() - before_mib) * 1024 / count, "KiB/partition")


def _produce_to_each(running: PeerProcess, count: int) -> None:
    batch = frames.batch(100, 1)
    with RawClient(running.address) as client:
        for number in range(count // _AT_ONCE):
            _produce(client, frames.produce_frame(f"many-{number}", range(_AT_ONCE), batch))


def _produce(client: RawClient, frame: bytes) -> None:
    """Retry: a new topic may not have its leaders yet."""
    deadline = time.perf_counter() + _LEADERS_WITHIN_S
    while True:
        try:
            client.produce(frame)
        except UnexpectedAnswer:
            if time.perf_counter() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _measure_growth(bench: Bench, board: Board) -> list[Ratio]:
    many = bench.scale.peers.grown_partitions
    targets = bench.fleet.targets(speaks_kafka)
    for partitions in (1, many):

        def measure(target: Target, where: Where, partitions: int = partitions) -> None:
            server = bench.fleet.running(target)
            with WireLoad([where]) as publisher:
                publisher.in_turn(bench.scale.peers.round_s)  # every partition has its file afterwards
                cpu_s = server.cpu_s()
                load = publisher.in_turn(bench.scale.peers.round_s)
                cpu_s = server.cpu_since(cpu_s)
            board.add(target, _p50(partitions), quantile(load.latencies_s, 0.5) * 1e6, "µs")
            board.add(target, _cpu(partitions), cpu_s / load.acknowledged * 1e6, "µs/message")

        with bench.fleet.streams("growth", board, targets, partitions=partitions) as places:
            bench.peer_rounds(f"a message among {partitions:,} partitions", board, places, measure)
    ratios: list[Ratio] = []
    for target in targets:
        for name, of in (("p50", _p50), ("CPU", _cpu)):
            label = f"{target.name}, {name} of a message: {many:,} / 1 partition"
            ratios += board.growth(label, target.name, of(many), of(1))
    return ratios


def _created(count: int) -> str:
    return f"{count:,} partitions: created"


def _memory(count: int) -> str:
    return f"{count:,} partitions: memory"


def _restarted(count: int) -> str:
    return f"{count:,} partitions: start after a clean stop"


def _killed(count: int) -> str:
    return f"{count:,} partitions: start after SIGKILL"


def _p50(partitions: int) -> str:
    return f"a message among {partitions:,} partitions, p50"


def _cpu(partitions: int) -> str:
    return f"a message among {partitions:,} partitions, CPU"
