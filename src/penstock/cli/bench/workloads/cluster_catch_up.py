"""(x) How long a broker that holds nothing of a topic takes to be in sync with it."""

import time

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Section
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.tasks import Task

KEY = "x"
TITLE = "A broker catches up"
METHOD = (
    "One of three brokers is killed, and a topic of which it is to have a replica is filled on the other two; then it "
    "is started. Measured is the time from starting its process until it is in sync with every partition, which means "
    "that all of it is on its disk."
)
_STREAM = "caught-up"
_MESSAGE_BYTES = 1024
_ABSENT = 3
_FILL_S_MAX = 240.0


def run(bench: Bench) -> Section:
    size = bench.scale.cluster.catch_up_bytes
    wanted = size * 4
    if (room := bench.room_bytes()) < wanted:
        reason = f"three replicas of {size / 1e9:g} GB need {wanted / 1e9:g} GB of room; there are {room / 1e9:.1f}"
        return Section(key=KEY, title=TITLE, method=METHOD, failure=reason)
    cells = Cells()
    with bench.cluster() as cluster:
        ask(Task(where=cluster.where(_STREAM), operation="create"))
        cluster.await_in_sync()
        cluster.kill(_ABSENT)
        cluster.wait_until(
            lambda: all(each.leader in cluster.nodes for each in cluster.facts().partitions), "new leaders"
        )
        bench.say(f"filling {size / 1e9:g} GB")
        fill = Task(
            where=cluster.where(_STREAM),
            operation="bulk",
            message_bytes=_MESSAGE_BYTES,
            count=size // _MESSAGE_BYTES,
            duration_s=_FILL_S_MAX,
        )
        filled = ask(fill)
        cells.add("filled, two replicas", filled.rate * _MESSAGE_BYTES / 1e6, "MB/s")
        bench.say("catching up")
        began = time.perf_counter()
        cluster.start(_ABSENT)
        ended = cluster.wait_until(lambda: not cluster.facts().unhealthy, "the third replica in sync")
        held = filled.count * _MESSAGE_BYTES
        cells.add("data", held / 1e9, "GB")
        cells.add("in sync after", ended - began, "s")
        cells.add("caught up at", held / (ended - began) / 1e6, "MB/s")
    return Section(key=KEY, title=TITLE, method=METHOD, figures=cells.figures())
