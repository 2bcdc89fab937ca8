"""(t) Start and idle memory, beside the peers."""

import time

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.fleet import PEER_FAILURES
from penstock.cli.bench.peers.starting import start_to_first
from penstock.cli.bench.peers.targets import COMPILED, KAFKA_SYNCED, PENSTOCK, Target, one_of_each_server

KEY = "t"
TITLE = "Start and idle memory, beside the peers"
METHOD = (
    "The clock runs from starting the process to the first acknowledged message, sent by a client that tries again and "
    "again from the moment the port is open: in a new directory, where it makes the stream first, and in the same "
    "directory after a clean stop. Kafka's directory is formatted before the clock starts. Memory is the resident "
    "memory of all processes of the server, one second after the first message."
)
_STREAM = "start"
_SETTLE_S = 1.0
_NEW, _AGAIN = "start, new directory", "start, after a clean stop"
_MEMORY = "idle memory"
_GOAL = goals.at_most(0.15)


def run(bench: Bench) -> Section:
    board = bench.new_board()
    targets = one_of_each_server(bench.fleet.targets())
    for _ in bench.rounds("start", bench.scale.peers.starts):
        for target in list(targets):
            try:
                _measure(bench, board, target)
            except PEER_FAILURES as error:
                board.fail(target, str(error))
                targets.remove(target)
    ratios = [
        ratio
        for what in (_NEW, _AGAIN, _MEMORY)
        for ours in (PENSTOCK, COMPILED)
        if (ratio := board.ratio(what, ours, KAFKA_SYNCED, _GOAL)) is not None
    ]
    return board.section(KEY, TITLE, METHOD, ratios)


def _measure(bench: Bench, board: Board, target: Target) -> None:
    with bench.directory() as directory:
        for what in (_NEW, _AGAIN):
            running, took_s = start_to_first(bench.fleet, target, directory, _STREAM)
            with running:
                board.add(target, what, took_s, "s")
                if what == _NEW:
                    time.sleep(_SETTLE_S)
                    board.add(target, _MEMORY, running.rss_mib(), "MiB")
                    board.add(target, "clean stop", running.stop(), "s")
