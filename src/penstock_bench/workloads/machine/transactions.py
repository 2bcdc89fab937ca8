"""(j) What transactions cost: the same producer with and without them, and a commit over one and over 50 partitions."""

import time

from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings, Ratio, quantile
from penstock_bench.librdkafka_clients import produce_bulk, produce_in_transactions
from penstock_bench.raw_client import RawClient
from penstock_bench.raw_transactions import RawTransactions

_TOPIC = "transactions"
_MESSAGE_BYTES = 1024
_COMMIT_INTERVAL_S = 0.1
_PARTITION_COUNTS = (1, 50)
_ANSWERED, _VISIBLE = "commit answered", "commit visible to readers"


def run(bench: Bench) -> Findings:
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
    ratios = (cells.ratio("transactional / plain", "transactional", "plain"), *_measure_commits(bench, cells))
    return Findings(ratios=ratios, figures=cells.figures())


def _measure_commits(bench: Bench, cells: Cells) -> tuple[Ratio, ...]:
    topics = {f"{_TOPIC}-{count}": count for count in _PARTITION_COUNTS}
    with bench.broker(topics) as (server, _), RawClient(server.address) as client:
        producers = {
            count: RawTransactions(client, topic, range(count), b"x" * 100) for topic, count in topics.items()
        }
        for producer in producers.values():
            _commit_for(producer, min(0.3, bench.scale.round_s))
        for _ in bench.rounds("commits over several partitions"):
            for count, producer in producers.items():
                answered_s, visible_s = _commit_for(producer, bench.scale.round_s)
                cells.add(_over(_ANSWERED, count), quantile(answered_s, 0.5) * 1e3, "ms")
                cells.add(_over(_VISIBLE, count), quantile(visible_s, 0.5) * 1e3, "ms")
    few, many = _PARTITION_COUNTS
    return tuple(
        cells.ratio(f"{what}: {many} / {few} partition", _over(what, many), _over(what, few))
        for what in (_ANSWERED, _VISIBLE)
    )


def _commit_for(producer: RawTransactions, duration_s: float) -> tuple[list[float], list[float]]:
    """Return the seconds until each commit was answered, and until it was visible."""
    answered_s: list[float] = []
    visible_s: list[float] = []
    end = time.perf_counter() + duration_s
    while time.perf_counter() < end:
        producer.write()
        began = time.perf_counter()
        producer.commit()
        answered_s.append(time.perf_counter() - began)
        producer.await_visible()
        visible_s.append(time.perf_counter() - began)
    return answered_s, visible_s


def _over(what: str, partitions: int) -> str:
    return f"{what}, {partitions} partition{'s' if partitions > 1 else ''}"
