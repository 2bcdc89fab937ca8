"""(x) How long a broker that holds nothing of a topic takes to be in sync with it."""

import time

from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings
from penstock_bench.peers.agents import publish_bulk, run_task
from penstock_bench.peers.tasks import Task

_STREAM = "caught-up"
_MESSAGE_BYTES = 1024
_ABSENT = 3
_FILL_S_MAX = 240.0


def run(bench: Bench) -> Findings:
    size = bench.scale.cluster.catch_up_bytes
    wanted = size * 4
    if (room := bench.free_bytes()) < wanted:
        reason = f"three replicas of {size / 1e9:g} GB need {wanted / 1e9:g} GB of room; there are {room / 1e9:.1f}"
        return Findings(failure=reason)
    cells = Cells()
    with bench.cluster() as cluster:
        run_task(Task(where=cluster.where(_STREAM), operation="create"))
        cluster.await_in_sync()
        cluster.kill(_ABSENT)
        cluster.wait_until(
            lambda: all(each.leader in cluster.nodes for each in cluster.facts().partitions), "new leaders"
        )
        bench.log(f"filling {size / 1e9:g} GB")
        filled = publish_bulk(cluster.where(_STREAM), _MESSAGE_BYTES, _FILL_S_MAX, size // _MESSAGE_BYTES)
        cells.add("filled, two replicas", filled.rate * _MESSAGE_BYTES / 1e6, "MB/s")
        bench.log("catching up")
        began = time.perf_counter()
        cluster.start(_ABSENT)
        ended = cluster.wait_until(lambda: not cluster.facts().unhealthy, "the third replica in sync")
        held = filled.count * _MESSAGE_BYTES
        cells.add("data", held / 1e9, "GB")
        cells.add("in sync after", ended - began, "s")
        cells.add("caught up at", held / (ended - began) / 1e6, "MB/s")
    return Findings(figures=cells.figures())
