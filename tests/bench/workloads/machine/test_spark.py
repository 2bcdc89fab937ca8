import io
import json

import pytest

from penstock_bench.catalogue import WORKLOADS
from penstock_bench.figures import Cells
from penstock_bench.spark_driver import (
    MEMORY_FIRST,
    MEMORY_SECOND,
    Line,
    Task,
    halves,
    latency_label,
    rows_label,
    trigger_label,
)
from penstock_bench.workloads.machine.spark import SparkFailed, ratios, read_lines, records


def task(*jars: str) -> Task:
    return Task(
        bootstrap="127.0.0.1:1",
        topic="t",
        latency_topic="l",
        rows=10,
        rounds=1,
        latency_records=1,
        directory="",
        jars=jars,
    )


def measured(sources: tuple[str, ...]) -> Cells:
    cells = Cells()
    for number, source in enumerate(sources, start=1):
        for target in ("noop", "table"):
            cells.add(rows_label(source, target), 1000.0 * number, "rows/s")
        if source != "parquet":
            cells.add(latency_label(source), 100.0 * number, "ms")
            cells.add(trigger_label(source), 50.0 * number, "ms")
    cells.add(MEMORY_FIRST, 100.0, "MiB")
    cells.add(MEMORY_SECOND, 105.0, "MiB")
    return cells


def test_every_record_is_json_of_200_bytes() -> None:
    made = list(records(1000))
    assert {len(record) for record in made} == {200}
    assert [json.loads(record)["id"] for record in made] == list(range(1000))


def test_the_lines_of_the_driver_are_decoded_until_it_fails() -> None:
    lines = read_lines(
        io.BytesIO(b'{"message":"begun"}\n{"label":"a","value":1.5,"unit":"ms"}\n{"failure":"no Java"}\n')
    )
    assert next(lines) == Line(message="begun")
    assert next(lines) == Line(label="a", value=1.5, unit="ms")
    with pytest.raises(SparkFailed, match="no Java"):
        next(lines)


def test_rates_are_compared_with_the_connector_where_it_is_installed() -> None:
    compared = {
        ratio.label: ratio for ratio in ratios(measured(("penstock", "kafka", "parquet")), task("a.jar"))
    }
    assert compared["topic to noop: penstock / Spark's connector"].median == 0.5
    assert [str(WORKLOADS["k"].goal(label)) for label in list(compared)[:2]] == ["≥ 0.6", "≥ 0.8"]
    assert compared["memory of the Python workers: second half / first half"].median == 1.05


def test_without_the_connector_files_are_the_only_reference() -> None:
    compared = [ratio.label for ratio in ratios(measured(("penstock", "parquet")), task())]
    assert compared == [
        "topic to noop: penstock / Parquet files",
        "topic to table: penstock / Parquet files",
        "memory of the Python workers: second half / first half",
    ]


def test_memory_is_the_peak_of_each_half() -> None:
    assert halves([1, 9, 3, 4, 5]) == (9, 5)
