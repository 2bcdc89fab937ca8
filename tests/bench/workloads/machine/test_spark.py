import json

from penstock_bench.board import Board
from penstock_bench.catalogue import WORKLOADS
from penstock_bench.figures import Ratio
from penstock_bench.workloads.machine.spark import (
    MEMORY_FIRST,
    MEMORY_SECOND,
    add_ratios,
    halves,
    latency_label,
    rows_label,
    trigger_label,
)
from penstock_bench.workloads.machine.spark_driver import records


def ratios(*sources: str) -> dict[str, Ratio]:
    board = Board()
    for number, source in enumerate(sources, start=1):
        for target in ("noop", "table"):
            board.add(rows_label(source, target), 1000.0 * number, "rows/s")
        if source != "parquet":
            board.add(latency_label(source), 100.0 * number, "ms")
            board.add(trigger_label(source), 50.0 * number, "ms")
    board.add(MEMORY_FIRST, 100.0, "MiB")
    board.add(MEMORY_SECOND, 105.0, "MiB")
    add_ratios(board)
    return {ratio.label: ratio for ratio in board.findings().ratios}


def test_every_record_is_json_of_200_bytes() -> None:
    made = list(records(1000))
    assert {len(record) for record in made} == {200}
    assert [json.loads(record)["id"] for record in made] == list(range(1000))


def test_rates_are_compared_with_the_connector_where_it_is_installed() -> None:
    compared = ratios("penstock", "kafka", "parquet")
    assert compared["topic to noop: penstock / Spark's connector"].median == 0.5
    assert [str(WORKLOADS["k"].goal(label)) for label in list(compared)[:2]] == ["≥ 0.6", "≥ 0.8"]
    assert compared["memory of the Python workers: second half / first half"].median == 1.05


def test_without_the_connector_files_are_the_only_reference() -> None:
    assert list(ratios("penstock", "parquet")) == [
        "topic to noop: penstock / Parquet files",
        "topic to table: penstock / Parquet files",
        "memory of the Python workers: second half / first half",
    ]


def test_memory_is_the_peak_of_each_half() -> None:
    assert halves([1, 9, 3, 4, 5]) == (9, 5)
