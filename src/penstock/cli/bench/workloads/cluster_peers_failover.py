"""(C) Clusters side by side: the node that leads a stream is killed under a publisher."""

import time

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Section
from penstock.cli.bench.peers import goals
from penstock.cli.bench.peers.agents import agents
from penstock.cli.bench.peers.targets import SYNCED, Target
from penstock.cli.bench.peers.tasks import Task, Where

KEY = "C"
TITLE = "Clusters side by side: the leader is killed"
METHOD = (
    "The clusters of (B) that sync before they acknowledge. One publisher sends one message after the other through "
    "the product's own client; after a second the node that leads its stream, to which it is connected, is killed "
    "with SIGKILL. Measured is the longest time between two acknowledgements that the publisher saw until messages "
    "that it sent after the kill were acknowledged, and one second longer. A publish that fails, or is not "
    "acknowledged within 0.5 s, is sent again at once: librdkafka finds the new leader by itself, nats-py and pika "
    "connect to the next node. Settings that decide when a node counts as dead are each product's defaults. The node "
    "is started again after each round, and the next round begins when all replicas are in sync."
)
_GAP = "longest time without an acknowledgement"
_RUN_UP_S = 1.0
_WITHIN_S = 90.0


def run(bench: Bench) -> Section:
    board = bench.new_board()
    targets = bench.clusters.targets(lambda target: target.durability == SYNCED)

    def measure(target: Target, places: list[Where]) -> None:
        cluster = bench.clusters.running(target)
        (place,) = cluster.await_led(places)
        leader = cluster.leader_of(place)
        with agents([Task(where=place, operation="outage", duration_s=_WITHIN_S)]) as (publisher,):
            publisher.begin()
            time.sleep(_RUN_UP_S)
            cluster.kill(leader)
            publisher.announce_kill()
            try:
                outcome = publisher.outcome()
            finally:
                cluster.start(leader)
        board.add(target, _GAP, outcome.latencies_s[0], "s")

    with bench.clusters.streams("failover", board, targets) as places:
        bench.peer_rounds("leader killed", board, places, measure)
    return board.section(KEY, TITLE, METHOD, goals.beside_equals(board, _GAP, targets))
