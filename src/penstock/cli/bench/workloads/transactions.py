"""(j) What transactions cost: the same producer, with and without a commit every tenth of a second."""

from penstock.cli.bench.context import Bench
from penstock.cli.bench.figures import Cells, Goal, Section
from penstock.cli.bench.librdkafka_clients import produce_bulk, produce_in_transactions

KEY = "j"
TITLE = "Transactions"
METHOD = (
    "One librdkafka producer sends the same messages of 1 KiB twice in each round: as an idempotent producer, and in "
    "transactions that are committed every 100 ms. From the first `produce` to the last acknowledgement or commit."
)
_TOPIC = "transactions"
_MESSAGE_BYTES = 1024
_COMMIT_INTERVAL_S = 0.1
_KEPT = Goal(side="at least", bound=0.8)


def run(bench: Bench) -> Section:
    cells = Cells()
    count = bench.scale.bulk_messages[_MESSAGE_BYTES]
    for _ in bench.rounds("transactional against plain"):
        with bench.broker({_TOPIC: 1}) as (server, _):
            took_s = produce_bulk(server.bootstrap, _TOPIC, _MESSAGE_BYTES, count, is_idempotent=True)
            cells.add("plain", count / took_s, "msg/s")
        with bench.broker({_TOPIC: 1}) as (server, _):
            took_s = produce_in_transactions(
                server.bootstrap, _TOPIC, _MESSAGE_BYTES, count, _COMMIT_INTERVAL_S
            )
            cells.add("transactional", count / took_s, "msg/s")
    ratios = (cells.ratio("transactional / plain", "transactional", "plain", _KEPT),)
    return Section(key=KEY, title=TITLE, method=METHOD, ratios=ratios, figures=cells.figures())
