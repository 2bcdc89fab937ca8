"""(v) Publishing to three brokers that all store a message, against one."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Section, quantile
from penstock.cli.bench.peers.agents import ask
from penstock.cli.bench.peers.tasks import Task, Where

KEY = "v"
TITLE = "Three replicas against one"
METHOD = (
    "A topic of one partition with three replicas on three local brokers (`min.insync.replicas=2`, `acks=all`), and "
    "one on a single broker: one confluent-kafka producer with its default batching sends 1 KiB messages as fast as it "
    "can, and one sends 100 B messages one at a time. All brokers sync before they acknowledge, and share the "
    "machine's cores and its disk with the client: three machines would do better."
)
_BULK, _LONE = "1 KiB messages, batched", "100 B messages, one at a time"


def run(bench: Bench) -> Section:
    cells = Cells()
    duration_s = bench.scale.peers.round_s
    with bench.cluster() as three, bench.broker({}) as (one, _):
        host, port = one.address
        places = {
            "three": three.where("replicated"),
            "one": Where(dialect="kafka", host=host, port=port, stream="single"),
        }
        for where in places.values():
            ask(Task(where=where, operation="create"))
        three.await_in_sync()
        for _ in bench.rounds("three replicas against one", bench.scale.peers.rounds):
            for name, where in places.items():
                bulk = ask(Task(where=where, operation="bulk", message_bytes=1024, duration_s=duration_s))
                cells.add(f"{_BULK}, {name}", bulk.rate, "/s")
                lone = ask(Task(where=where, operation="lone", message_bytes=100, duration_s=duration_s))
                cells.add(f"{_LONE}, {name}", lone.rate, "/s")
                cells.add(f"{_LONE}, {name}, p50", quantile(lone.latencies_s, 0.5) * 1e6, "µs")
                cells.add(f"{_LONE}, {name}, p99", quantile(lone.latencies_s, 0.99) * 1e6, "µs")
    ratios = tuple(
        cells.ratio(f"{what}{suffix}: three replicas / one", f"{what}, three{suffix}", f"{what}, one{suffix}")
        for what, suffix in ((_BULK, ""), (_LONE, ""), (_LONE, ", p50"), (_LONE, ", p99"))
    )
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=ratios, figures=cells.figures())
