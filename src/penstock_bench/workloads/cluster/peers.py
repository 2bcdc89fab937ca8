"""(B), (C): clusters side by side, three nodes each of Penstock and its peers."""

import time

from penstock_bench.context import Bench
from penstock_bench.figures import quantile
from penstock_bench.load_generator import Load
from penstock_bench.peers.agents import agents, bulk, lone, outage, run
from penstock_bench.peers.targets import CLUSTER_TARGETS, SYNCED, Target, comparable_pairs
from penstock_bench.peers.tasks import Outcome, Where
from penstock_bench.peers.wire import wire_load

_LONE = "one publisher, 100 B"
_MANY = "64 publishers on 64 partitions, 100 B"
_BULK = "batched, 1 KiB"
_BULK_BYTES = 1024


# -- (B) publishing to three replicas


def publish(bench: Bench) -> None:
    board, sizes = bench.board, bench.scale.peers
    targets = bench.fleet.targets(among=CLUSTER_TARGETS)

    def publish_as(what: str, places: tuple[Where, ...]) -> Outcome | Load:
        if what == _LONE:
            return run(lone, places[0], sizes.round_s)
        if what == _BULK:
            return run(bulk, places[0], _BULK_BYTES, sizes.round_s)
        with wire_load(places) as publishers:
            return publishers.run(sizes.round_s)

    for what in (_LONE, _MANY, _BULK):

        def measure(target: Target, *places: Where, what: str = what) -> None:
            with bench.fleet.running(target).usage() as used:
                outcome = publish_as(what, places)
            count = outcome.count if isinstance(outcome, Outcome) else outcome.acknowledged
            board.add(what, outcome.rate, "messages/s" if what == _BULK else "/s", target)
            if what != _BULK:
                board.add(f"{what}, p99", quantile(outcome.latencies_s, 0.99) * 1e3, "ms", target)
            board.add(f"{what}, CPU", used.cpu_s / count * 1e6, "µs/message", target)

        bench.compare(what, measure, targets, count=sizes.publishers if what == _MANY else 1, warm_up=True)
        board.compare(what, *comparable_pairs(targets))


# -- (C) the node that leads a stream is killed under a publisher

_GAP = "longest time without an acknowledgement"
_WARM_UP_S = 1.0
_WITHIN_S = 90.0


def fail_over(bench: Bench) -> None:
    targets = bench.fleet.targets(lambda target: target.durability == SYNCED, CLUSTER_TARGETS)

    def measure(target: Target, created: Where) -> None:
        cluster = bench.fleet.running(target)
        (place,) = cluster.await_led([created])
        leader = cluster.leader_of(place)
        with agents([(outage, place, _WITHIN_S)]) as (publisher,):
            publisher.begin()
            time.sleep(_WARM_UP_S)
            cluster.kill(leader)
            publisher.announce_kill()
            try:
                outcome = publisher.outcome()
            finally:
                cluster.start(leader)
        bench.board.add(_GAP, outcome.latencies_s[0], "s", target)

    bench.compare("leader killed", measure, targets)
    bench.board.compare(_GAP, *comparable_pairs(targets))
