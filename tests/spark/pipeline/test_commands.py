"""`penstock pipeline run|status|backfill`."""

import contextlib
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli.main import run
from penstock.client.settings import ClientSettings
from penstock.spark.pipeline import check
from penstock.spark.pipeline.delivery.receivers import TopicReceiver
from penstock.spark.pipeline.history.record import HistoryRecorder
from penstock.spark.pipeline.progress.status import (
    FAILED,
    RUNNING,
    QueryStatus,
    RunStatus,
    run_lock,
    write_status,
)
from penstock.spark.pipeline.run import runner as pipeline_run
from tests.spark.pipeline.shop import create, produce, rows, state_of, topic_of
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]


# -- status


def test_a_pipeline_that_never_ran_says_how_to_run_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "status", str(file)]) == 1
    assert f"has not run yet: start it with `penstock pipeline run {file}`" in capsys.readouterr().err


@pytest.fixture
def left(file: Path) -> RunStatus:
    """What a run has left behind."""
    (file.parent / ".penstock" / "shop").mkdir(parents=True)
    query = QueryStatus(
        name="shop.table",
        state=RUNNING,
        batch_id=4,
        rows=1234,
        broken={"orders": {"positive": 5, "known": 0}},
        last_error="disk full",
    )
    status = RunStatus(
        pipeline="shop", file=str(file), pid=4711, started_ms=0, updated_ms=1000, queries=(query,)
    )
    write_status(state_of(file), status)
    return status


@pytest.mark.usefixtures("left")
def test_the_status_of_a_run_is_shown_by_another_process(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_lock(state_of(file), "shop"):
        assert run(["pipeline", "status", str(file)]) == 0
    reported = capsys.readouterr().out
    assert "pipeline shop runs as process 4711 since 1970-01-01 00:00:00 UTC" in reported
    assert "shop.table  running  4      1,234" in reported
    assert "shop.table: 5 rows of orders broke `positive`" in reported
    assert "`known`" not in reported
    assert "shop.table: last error: disk full" in reported


@pytest.mark.usefixtures("left")
def test_a_process_that_died_is_not_said_to_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "status", str(file)]) == 0
    assert "pipeline shop does not run: process 4711 died, last update" in capsys.readouterr().out


@pytest.mark.usefixtures("left")
def test_the_status_is_json_for_programs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "status", str(file), "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert (reported["running"], reported["pid"], reported["queries"][0]["rows"]) == (False, 4711, 1234)


# -- run


def test_a_missing_topic_fails_with_the_line_before_spark_starts(
    file: Path, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pipeline", "run", str(file), "--once", "-b", shared_broker.bootstrap]) == 1
    reported = capsys.readouterr().err
    assert reported.startswith(f"{file}:6: source orders reads topic {topic_of(file)}, which does not exist")
    assert reported.count("\n") == 1


@pytest.mark.usefixtures("left")
def test_a_second_run_is_refused(
    file: Path, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_lock(state_of(file), "shop"):
        assert run(["pipeline", "run", str(file), "-b", shared_broker.bootstrap]) == 1
    assert "pipeline shop is running already (process 4711)" in capsys.readouterr().err


def test_the_address_of_the_metrics_is_checked_before_anything_starts(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pipeline", "run", str(file), "--metrics", "9400"]) == 2
    assert "--metrics 9400 is not an address: write HOST:PORT" in capsys.readouterr().err
    assert run(["pipeline", "run", str(file), "--metrics", "127.0.0.1:0", "--metrics-port", "1"]) == 2
    assert "say the same: keep one of them" in capsys.readouterr().err


# -- history


def test_the_history_shows_the_runs_of_the_pipeline(
    file: Path, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = f"{topic_of(file)}.runs"
    file.write_text(f"{file.read_text()}history_topic: {topic}\n")
    command = ["pipeline", "history", str(file), "-b", shared_broker.bootstrap]
    assert run(command) == 1
    assert f"there is no topic {topic}: the first run of pipeline shop creates it" in capsys.readouterr().err
    failed = QueryStatus(name="shop.table", state=FAILED, rows=7, failures=2, last_error="disk full")
    settings = ClientSettings.from_properties({"bootstrap.servers": shared_broker.bootstrap})
    HistoryRecorder(TopicReceiver(settings, topic, {}, 60))(
        RunStatus(
            pipeline="shop",
            file=str(file),
            pid=1,
            run_id="one",
            started_ms=0,
            updated_ms=90_000,
            ended_ms=90_000,
            exit_code=1,
            queries=(failed,),
        )
    )
    assert run(command) == 0
    (_, shown) = capsys.readouterr().out.splitlines()
    assert shown.split("  ")[0] == "1970-01-01 00:00:00 UTC"
    assert "exit code 1" in shown
    assert "shop.table (permanent): disk full" in shown
    file.write_text(file.read_text().replace(topic, "none"))
    assert run(command) == 1
    assert "keeps no history" in capsys.readouterr().err


# -- plan and reset


def test_an_output_without_a_checkpoint_goes_on_and_can_be_reset(
    file: Path,
    shared_broker: BrokerProcess,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    create(shared_broker, topic_of(file))
    produce(shared_broker, topic_of(file), [1000, 1001, 1002])
    monkeypatch.setattr(check, "session_for_check", lambda _: contextlib.nullcontext(spark))
    at = ["-b", shared_broker.bootstrap]
    assert run(["pipeline", "plan", str(file), *at]) == 0
    assert (
        "table: goes on: it has no checkpoint and starts anew: orders from earliest"
        in capsys.readouterr().out
    )
    command = ["pipeline", "reset", str(file), "--output", "table", "--to", "latest", *at]
    assert run([*command, "--dry-run"]) == 0
    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["2", "0"],
        ["1", "0"],
    ]
    assert run([*command, "--yes"]) == 0
    assert "shop.table starts at latest with the next run" in capsys.readouterr().out
    assert run(["pipeline", "reset", str(file), "--output", "tabel", *at]) == 2
    assert "no output `tabel`: it has table, dead-letters.orders" in capsys.readouterr().err


# -- backfill


@pytest.fixture
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_run, "session_for", lambda *_, **__: contextlib.nullcontext(spark))


@pytest.mark.usefixtures("shared_session")
def test_a_range_is_backfilled_once(
    file: Path, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    create(shared_broker, topic_of(file))
    produce(shared_broker, topic_of(file), [999, 1000, 1001, 1999, 2000])
    command = ["pipeline", "backfill", str(file), "-b", shared_broker.bootstrap]
    command += ["--from", "1970-01-01T00:00:01Z", "--to", "1970-01-01T00:00:02Z"]

    assert run([*command, "--dry-run"]) == 0
    records = [int(line.split()[-1]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert sum(records) == 3
    assert not (file.parent / "lake").exists()

    assert run(command) == 0
    assert rows(file) == ["o1000", "o1001", "o1999"]
    capsys.readouterr()
    assert run(command) == 0
    assert "shop.table: was done before, nothing written" in capsys.readouterr().out
    assert len(rows(file)) == 3
    assert run([*command, "--force", "--output", "table"]) == 0
    assert len(rows(file)) == 6
    capsys.readouterr()
    assert run([*command, "--output", "table", "--replace", "amount"]) == 1
    assert "has no time or date in column amount: its type is double" in capsys.readouterr().err


def test_a_time_that_is_none_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "backfill", str(file), "--from", "yesterday", "--to", "2026-01-01"]) == 2
    assert "`yesterday` is not a time" in capsys.readouterr().err
