"""(u) Start after SIGKILL, beside the peers, and start after a clean stop by the size of the log."""

from penstock_bench.context import Bench
from penstock_bench.figures import Findings, Ratio
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import publish_bulk
from penstock_bench.peers.board import Board
from penstock_bench.peers.fleet import PEER_FAILURES, stream_on
from penstock_bench.peers.servers.running import PeerProcess
from penstock_bench.peers.starting import start_to_first
from penstock_bench.peers.targets import Target, one_of_each_server, speaks_kafka

_STREAM = "recovery"
_MESSAGE_BYTES = 1024
_KILLED = "start after SIGKILL"
_QUORUM_NOTE = (
    "A quorum queue on a single node of RabbitMQ 3.10 often finds no leader after a crash (rabbitmq-server issue "
    "10070): then it acknowledges nothing until an operator triggers an election, and is reported as not measured."
)
_FILL_S_MAX = 120.0


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    sizes_mib = bench.scale.peers.log_sizes_mib
    for target in bench.fleet.targets():
        bench.log(f"recovery of {target.name}")
        try:
            _measure_kill(bench, board, target)
        except PEER_FAILURES as error:
            board.fail(target, str(error))
    targets = one_of_each_server(bench.fleet.targets(speaks_kafka))
    for target in targets:
        for size_mib in sizes_mib:
            bench.log(f"clean stop of {target.name} with {size_mib:,} MiB")
            try:
                _measure_stop(bench, board, target, size_mib)
            except PEER_FAILURES as error:
                board.fail(target, str(error))
    ratios: list[Ratio] = [*pairs.against_kafka(board, _KILLED)]
    for target in targets if len(sizes_mib) > 1 else ():
        label = f"{target.name}, start after a clean stop: {sizes_mib[-1]:,} MiB / {sizes_mib[0]:,} MiB"
        ratios += board.growth(label, target.name, _stopped(sizes_mib[-1]), _stopped(sizes_mib[0]))
    return board.findings(ratios, _QUORUM_NOTE)


def _measure_kill(bench: Bench, board: Board, target: Target) -> None:
    sizes = bench.scale.peers
    with bench.directory() as directory:
        running, _ = start_to_first(bench.fleet, target, directory, _STREAM)
        with running:
            count = _fill(running, target, sizes.recovery_messages, sizes.recovery_s)
            running.kill()
        running, took_s = start_to_first(
            bench.fleet, target, directory, _STREAM, within_s=sizes.recovery_within_s
        )
        with running:
            board.add(target, _KILLED, took_s, "s")
            board.add(
                target,
                "held when it was killed",
                count * _MESSAGE_BYTES / 2**20,
                "MiB",
                higher_is_better=True,
            )
            running.kill()


def _measure_stop(bench: Bench, board: Board, target: Target, size_mib: int) -> None:
    with bench.directory() as directory:
        running, _ = start_to_first(bench.fleet, target, directory, _STREAM)
        with running:
            _fill(running, target, size_mib * 2**20 // _MESSAGE_BYTES, _FILL_S_MAX)
            running.stop()
        running, took_s = start_to_first(bench.fleet, target, directory, _STREAM)
        with running:
            board.add(target, _stopped(size_mib), took_s, "s")
            running.kill()


def _fill(running: PeerProcess, target: Target, count: int, duration_s: float) -> int:
    where = stream_on(running.address, target, _STREAM)
    return publish_bulk(where, _MESSAGE_BYTES, duration_s, count).count


def _stopped(size_mib: int) -> str:
    return f"start after a clean stop, {size_mib:,} MiB"
