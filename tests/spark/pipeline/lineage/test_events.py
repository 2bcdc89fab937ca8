"""OpenLineage events, compared with the fields and formats that the spec (2-0-2) requires."""

import uuid
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from penstock.spark.pipeline.core.model import Output, Pipeline, TableSource, TopicSource
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.delivery.outbox import Message
from penstock.spark.pipeline.lineage.datasets import jobs_of
from penstock.spark.pipeline.lineage.events import LineageEmitter
from penstock.spark.pipeline.outputs import TableTarget, TopicTarget
from penstock.spark.pipeline.progress.status import FAILED, RUNNING, STOPPED, QueryStatus, RunStatus

PIPELINE = Pipeline(
    name="shop",
    bootstrap_servers="broker:9092,other:9092",
    directory="/srv",
    sources=(
        TopicSource(name="orders", topics=("orders",)),
        TableSource(name="rates", path="s3://lake/rates"),
    ),
    outputs=(
        Output(name="table", input="orders", target=TableTarget(path="lake/orders")),
        Output(name="topic", input="orders", target=TopicTarget(topic="copies")),
    ),
)
COLUMNS = {"orders": (("id", "string"), ("amount", "double"))}
JOBS = jobs_of(PIPELINE, plan_queries(PIPELINE), COLUMNS, {"table": COLUMNS["orders"]})


def events(*states: tuple[int, str, str, int | None]) -> list[dict[str, Any]]:
    """The events of a run whose queries have these states, at these times."""
    found: list[Message] = []
    emit = LineageEmitter(found.append, JOBS, "penstock", 1_000)
    for at_ms, table, topic, exit_code in states:
        queries = (
            QueryStatus(name="shop.table", state=table, last_error="no space"),
            QueryStatus(name="shop.topic", state=topic),
        )
        emit(
            RunStatus(
                pipeline="shop",
                file="f",
                pid=1,
                run_id=RUN_ID,
                started_ms=0,
                updated_ms=at_ms,
                ended_ms=None if exit_code is None else at_ms,
                exit_code=exit_code,
                queries=queries,
            )
        )
    return [each.body for each in found]


RUN_ID = str(uuid.uuid4())
RUN = events((0, RUNNING, RUNNING, None), (1_500, FAILED, RUNNING, None), (2_000, FAILED, STOPPED, 1))


def kinds(job: str, run: list[dict[str, Any]]) -> list[str]:
    return [each["eventType"] for each in run if each["job"]["name"] == job]


def test_a_query_starts_runs_and_completes_or_fails() -> None:
    assert kinds("shop.table", RUN) == ["START", "FAIL"]
    assert kinds("shop.topic", RUN) == ["START", "RUNNING", "COMPLETE"]
    cut_off = events((0, RUNNING, RUNNING, None), (10, RUNNING, STOPPED, 1))
    assert kinds("shop.table", cut_off) == ["START", "ABORT"]


def test_datasets_have_the_names_of_openlineage_and_their_columns() -> None:
    event = RUN[0]
    (orders,) = event["inputs"]
    assert (orders["namespace"], orders["name"]) == ("kafka://broker:9092", "orders")
    fields = [{"name": "id", "type": "string"}, {"name": "amount", "type": "double"}]
    assert orders["facets"]["schema"]["fields"] == fields
    (table,) = event["outputs"]
    assert (table["namespace"], table["name"]) == ("file", "/srv/lake/orders")
    assert table["facets"]["schema"]["fields"] == fields


def test_a_failure_says_why_and_each_run_belongs_to_the_run_of_the_pipeline() -> None:
    failed = next(each for each in RUN if each["eventType"] == "FAIL")
    assert failed["run"]["facets"]["errorMessage"]["message"] == "no space"
    assert {each["run"]["facets"]["parent"]["run"]["runId"] for each in RUN} == {RUN_ID}
    assert len({each["run"]["runId"] for each in RUN}) == 2


def test_events_have_what_the_spec_requires() -> None:
    for event in RUN:
        assert event["eventType"] in {"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"}
        assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
        assert is_uri(event["producer"])
        assert event["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
        uuid.UUID(event["run"]["runId"])
        for named in (event["job"], *event["inputs"], *event["outputs"]):
            assert named["namespace"]
            assert named["name"]
        for owner in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
            for facet in owner["facets"].values():
                assert is_uri(facet["_producer"])
                assert is_uri(facet["_schemaURL"])


def is_uri(text: str) -> bool:
    return bool(urlsplit(text).scheme and urlsplit(text).netloc)
