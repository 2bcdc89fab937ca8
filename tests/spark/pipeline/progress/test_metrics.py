"""The numbers of a run for Prometheus."""

import urllib.error
import urllib.request
from collections.abc import Iterator

import msgspec
import pytest

from penstock.spark.pipeline.progress.metrics import MetricsAddress, MetricsServer, exposition
from penstock.spark.pipeline.progress.status import PAUSED, RUNNING, MaintenanceStatus, QueryStatus, RunStatus
from penstock.spark.pipeline.progress.terminal import describe_maintenance

STATUS = RunStatus(
    pipeline="shop",
    file="shop.yaml",
    pid=1,
    started_ms=0,
    updated_ms=0,
    queries=(
        QueryStatus(
            name="shop.table",
            state=RUNNING,
            last_batch_ms=1_500,
            rows=12_345_678,
            lag_seconds=0.25,
            broken={"orders": {'a "quoted" rule\\': 3}},
        ),
        QueryStatus(name="shop.topic", state=PAUSED),
    ),
)


def test_each_query_has_a_line_for_each_metric() -> None:
    lines = exposition(STATUS).splitlines()
    assert 'penstock_pipeline_rows_total{pipeline="shop",query="shop.table"} 12345678' in lines
    assert 'penstock_pipeline_lag_seconds{pipeline="shop",query="shop.table"} 0.25' in lines
    assert 'penstock_pipeline_query_up{pipeline="shop",query="shop.table"} 1' in lines
    assert 'penstock_pipeline_query_up{pipeline="shop",query="shop.topic"} 0' in lines


def test_what_is_not_known_has_no_line() -> None:
    lines = [line for line in exposition(STATUS).splitlines() if "last_batch_timestamp_seconds{" in line]
    assert lines == ['penstock_pipeline_last_batch_timestamp_seconds{pipeline="shop",query="shop.table"} 1.5']


def test_labels_are_escaped() -> None:
    assert 'expectation="a \\"quoted\\" rule\\\\"} 3' in exposition(STATUS)


def test_each_metric_is_explained_once() -> None:
    heads = [line for line in exposition(STATUS).splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads)) > 10


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    result = MetricsServer(MetricsAddress("127.0.0.1", 0), lambda: STATUS)
    yield result
    result.close()


def test_the_metrics_are_served(server: MetricsServer) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as answer:
        assert answer.read().decode() == exposition(STATUS)
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_another_path_says_where_the_metrics_are(server: MetricsServer) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404: the metrics are at /metrics"):
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=10)


def test_tables_that_are_looked_after_have_lines_of_their_own() -> None:
    done = MaintenanceStatus(output="table", passes=2, last_ms=1_500, files_merged=7, files_made=1)
    lines = exposition(msgspec.structs.replace(STATUS, maintenance=(done,))).splitlines()
    assert 'penstock_pipeline_maintenance_files_merged_total{pipeline="shop",output="table"} 7' in lines
    assert 'penstock_pipeline_maintenance_last_timestamp_seconds{pipeline="shop",output="table"} 1.5' in lines
    assert describe_maintenance(done) == (
        "table of table: maintained 2 times; merged 7 files into 1; removed 0 old files"
    )
