"""(u) Start after SIGKILL, beside the peers, and start after a clean stop by the size of the log."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Ratio, Section
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.fleet import PEER_FAILURES, where_on
from penstock.cli.bench.peers.servers.running import Running
from penstock.cli.bench.peers.starting import start_to_first
from penstock.cli.bench.peers.targets import Target, one_of_each_server, speaks_kafka
from penstock.cli.bench.peers.tasks import Task

KEY = "u"
TITLE = "Recovery, beside the peers"
METHOD = (
    "A stream is filled with 1 KiB messages until the time or the count is up; the server is killed with SIGKILL and "
    "started again in the same directory; the clock runs from starting the process to the first acknowledged message. "
    "How much each holds by then depends on how fast it takes messages, and stands with it. Then, for those that speak "
    "Kafka's protocol, the same after a clean stop, with logs of several sizes: that start should not depend on them."
)
_STREAM = "recovery"
_MESSAGE_BYTES = 1024
_KILLED = "start after SIGKILL"
_QUORUM_NOTE = (
    "A quorum queue on a single node of RabbitMQ 3.10 often finds no leader after a crash (rabbitmq-server issue "
    "10070): then it acknowledges nothing until someone triggers an election, and is told as not measured."
)
_FILL_S_MAX = 120.0
_GROWTH_GOAL = goals.at_most(1.5)


def run(bench: Bench) -> Section:
    board = bench.new_board()
    sizes_mib = bench.scale.peers.log_sizes_mib
    for target in bench.fleet.targets():
        bench.say(f"recovery of {target.name}")
        try:
            _measure_kill(bench, board, target)
        except PEER_FAILURES as error:
            board.fail(target, str(error))
    targets = one_of_each_server(bench.fleet.targets(speaks_kafka))
    for target in targets:
        for size_mib in sizes_mib:
            bench.say(f"clean stop of {target.name} with {size_mib:,} MiB")
            try:
                _measure_stop(bench, board, target, size_mib)
            except PEER_FAILURES as error:
                board.fail(target, str(error))
    ratios: list[Ratio] = [*goals.beside_kafka(board, _KILLED)]
    for target in targets if len(sizes_mib) > 1 else ():
        label = f"{target.name}, start after a clean stop: {sizes_mib[-1]:,} MiB / {sizes_mib[0]:,} MiB"
        goal = _GROWTH_GOAL if target.is_ours else None
        ratios += board.growth(label, target.name, _stopped(sizes_mib[-1]), _stopped(sizes_mib[0]), goal)
    return board.section(KEY, TITLE, METHOD, ratios, _QUORUM_NOTE)


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
                target, "held when it was killed", count * _MESSAGE_BYTES / 2**20, "MiB", more_is_better=True
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


def _fill(running: Running, target: Target, count: int, duration_s: float) -> int:
    where = where_on(running.address, target, _STREAM)
    task = Task(
        where=where, operation="bulk", message_bytes=_MESSAGE_BYTES, count=count, duration_s=duration_s
    )
    return ask(task).count


def _stopped(size_mib: int) -> str:
    return f"start after a clean stop, {size_mib:,} MiB"
