"""(t) Start and idle memory, beside the peers."""

import time

from penstock_bench.context import Bench
from penstock_bench.figures import Findings
from penstock_bench.peers.board import Board
from penstock_bench.peers.fleet import PEER_FAILURES
from penstock_bench.peers.starting import start_to_first
from penstock_bench.peers.targets import KAFKA_SYNCED, PENSTOCK, Target, one_of_each_server

_STREAM = "start"
_IDLE_S = 1.0
_NEW, _AGAIN = "start, new directory", "start, after a clean stop"
_MEMORY = "idle memory"


def run(bench: Bench) -> Findings:
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
        if (ratio := board.ratio(what, PENSTOCK, KAFKA_SYNCED)) is not None
    ]
    return board.findings(ratios)


def _measure(bench: Bench, board: Board, target: Target) -> None:
    with bench.directory() as directory:
        for what in (_NEW, _AGAIN):
            running, took_s = start_to_first(bench.fleet, target, directory, _STREAM)
            with running:
                board.add(target, what, took_s, "s")
                if what == _NEW:
                    time.sleep(_IDLE_S)
                    board.add(target, _MEMORY, running.rss_mib(), "MiB")
                    board.add(target, "clean stop", running.stop(), "s")
