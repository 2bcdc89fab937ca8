"""(C) Clusters side by side: the node that leads a stream is killed under a publisher."""

import time

from penstock_bench.context import Bench
from penstock_bench.figures import Findings
from penstock_bench.peers import pairs
from penstock_bench.peers.agents import agents
from penstock_bench.peers.targets import SYNCED, Target
from penstock_bench.peers.tasks import Task, Where

_GAP = "longest time without an acknowledgement"
_WARM_UP_S = 1.0
_WITHIN_S = 90.0


def run(bench: Bench) -> Findings:
    board = bench.new_board()
    targets = bench.clusters.targets(lambda target: target.durability == SYNCED)

    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        (place,) = cluster.await_led(places)
        leader = cluster.leader_of(place)
        with agents([Task(where=place, operation="outage", duration_s=_WITHIN_S)]) as (publisher,):
            publisher.begin()
            time.sleep(_WARM_UP_S)
            cluster.kill(leader)
            publisher.announce_kill()
            try:
                outcome = publisher.outcome()
            finally:
                cluster.start(leader)
        board.add(target, _GAP, outcome.latencies_s[0], "s")

    with bench.clusters.streams("failover", board, targets) as places:
        bench.peer_rounds("leader killed", board, places, measure)
    return board.findings(pairs.against_equals(board, _GAP, targets))
