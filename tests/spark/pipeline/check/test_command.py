"""`penstock pipeline check`, in this process: its session is the one of all Spark tests."""

import uuid
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from penstock.cli.main import run
from penstock.spark.pipeline import check
from tests.support.broker import BrokerProcess, free_port

pytestmark = pytest.mark.xdist_group("spark")

TEXT = """\
pipeline: p
bootstrap_servers: {server}
sources:
  orders: {{decode: {{json: 'id STRING, amount DOUBLE'}}, topic: {topic}}}
steps:
  - {{name: big, sql: 'SELECT id, {column} FROM orders'}}
outputs:
  out: {{from: big, topic: {written}, partitions: 2}}
"""

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(**parts: str) -> str:
        path = tmp_path / "p.yaml"
        path.write_text(
            TEXT.format(
                **{"server": "127.0.0.1:9", "topic": "orders", "column": "amount", "written": "o"} | parts
            )
        )
        return str(path)

    return write_file


@pytest.fixture
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "session_for_check", lambda _pipeline: nullcontext(spark))


@pytest.mark.usefixtures("shared_session")
def test_a_good_file_is_explained_with_its_columns_topics_and_queries(
    write: Write, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = f"check-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(30)
    assert (
        run(["pipeline", "check", write(topic=topic, written=f"{topic}.out"), "-b", shared_broker.bootstrap])
        == 0
    )
    shown = capsys.readouterr().out
    assert "pipeline p: 1 source, 1 step, 1 output" in shown
    assert f"{topic} (3 partitions)" in shown
    assert "id string, amount double" in shown
    assert f"topic {topic}.out (will be created with 2 partitions), exactly-once" in shown
    assert "p.dead-letters.orders" in shown
    assert shown.endswith("everything is in order\n")


@pytest.mark.usefixtures("shared_session")
def test_a_missing_topic_and_an_unknown_column_are_reported_together(
    write: Write, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(topic="nowhere", column="amuont", server=shared_broker.bootstrap)
    assert run(["pipeline", "check", path]) == 1
    captured = capsys.readouterr()
    assert f"{path}:4: source orders reads topic nowhere, which does not exist" in captured.out
    assert f"{path}:6: step big: " in captured.out
    assert captured.err == "penstock: 2 problems found\n"


@pytest.mark.usefixtures("shared_session")
def test_warnings_are_shown_and_do_not_fail(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(topic="orders}\n  spare: {topic: spare")
    assert run(["pipeline", "check", path, "--offline"]) == 0
    shown = capsys.readouterr().out
    assert f"{path}:5: warning: source spare is not used: no output reads it, so it is not run" in shown
    assert shown.endswith("no errors, only warnings\n")


@pytest.mark.usefixtures("shared_session")
def test_without_a_broker_the_rest_is_checked_all_the_same(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(server=f"127.0.0.1:{free_port()}")
    assert run(["pipeline", "check", path]) == 1
    captured = capsys.readouterr()
    assert f"{path}: the topics were not checked: no broker at" in captured.out
    assert "id string, amount double" in captured.out
    assert run(["pipeline", "check", path, "--offline"]) == 0


@pytest.mark.usefixtures("shared_session")
def test_all_problems_of_a_file_are_shown_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "pipeline: p\ntriger: 1 s\n"
        "sources: {a: {topic: a, decode: {json: 'id STRING'}}}\n"
        "steps:\n"
        "  - {name: s, from: a, filter: nothing > 0}\n"
        "  - {name: w, sql: SELECT id FRM a}\n"
        "  - {name: x, sql: 'SELECT id, FROM a'}\n"
        "outputs: {o: {from: b, console: true}, p: {from: s, console: true}, q: {from: x, console: true}}\n"
    )
    assert run(["pipeline", "check", str(path), "--offline"]) == 1
    captured = capsys.readouterr()
    found = [line.removeprefix(str(path)) for line in captured.out.splitlines() if line.startswith(str(path))]
    expected = [
        ":2: pipeline file: unknown key `triger`; did you mean `trigger`?",
        ":5: step s: [UNRESOLVED_COLUMN",
        ":6: step w: the query is not valid SQL",
        ":7: step x: is not valid SQL: [PARSE_SYNTAX_ERROR]",
        ":8: output o reads `b`, which is neither a source nor a step: there are a",
    ]
    assert [line for line, part in zip(found, expected, strict=True) if not line.startswith(part)] == []
    assert captured.err == "penstock: 5 problems found\n"


def test_a_file_that_is_no_yaml_is_reported_without_spark_and_without_a_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("pipeline: [p\n")
    assert run(["pipeline", "check", str(path)]) == 1
    captured = capsys.readouterr()
    assert f"{path}:2: is not YAML" in captured.out
    assert captured.err == "penstock: 1 problem found; columns and topics were not checked\n"
