"""(v) Publishing to three brokers that all store a message, against one."""

from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings, quantile
from penstock_bench.peers.agents import publish_bulk, publish_lone, run_task
from penstock_bench.peers.tasks import Task, Where

_BULK, _LONE = "1 KiB messages, batched", "100 B messages, one at a time"


def run(bench: Bench) -> Findings:
    cells = Cells()
    duration_s = bench.scale.peers.round_s
    with bench.cluster() as three, bench.broker({}) as (one, _):
        host, port = one.address
        places = {
            "three": three.where("replicated"),
            "one": Where(dialect="kafka", host=host, port=port, stream="single"),
        }
        for where in places.values():
            run_task(Task(where=where, operation="create"))
        three.await_in_sync()
        for _ in bench.rounds("three replicas against one", bench.scale.peers.rounds):
            for name, where in places.items():
                bulk = publish_bulk(where, 1024, duration_s)
                cells.add(f"{_BULK}, {name}", bulk.rate, "/s")
                lone = publish_lone(where, duration_s)
                cells.add(f"{_LONE}, {name}", lone.rate, "/s")
                cells.add(f"{_LONE}, {name}, p50", quantile(lone.latencies_s, 0.5) * 1e6, "µs")
                cells.add(f"{_LONE}, {name}, p99", quantile(lone.latencies_s, 0.99) * 1e6, "µs")
    ratios = tuple(
        cells.ratio(f"{what}{suffix}: three replicas / one", f"{what}, three{suffix}", f"{what}, one{suffix}")
        for what, suffix in ((_BULK, ""), (_LONE, ""), (_LONE, ", p50"), (_LONE, ", p99"))
    )
    return Findings(ratios=ratios, figures=cells.figures())
