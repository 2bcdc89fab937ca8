"""`penstock pipeline run|status|backfill`."""

import contextlib
import json
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.cli.main import run
from penstock.spark.pipeline import run as pipeline_run
from penstock.spark.pipeline.status import (
    RUNNING,
    QueryStatus,
    RunStatus,
    is_running,
    read_status,
    run_lock,
    write_status,
)
from tests.cli.conftest import COMMAND, ENVIRONMENT
from tests.support.broker import BrokerProcess, free_port

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

TEXT = """\
pipeline: shop
bootstrap_servers: 127.0.0.1:9
trigger: 100 ms
spark: {{spark.sql.shuffle.partitions: 1}}
sources:
  orders: {{topic: {topic}, decode: {{json: 'id STRING NOT NULL, amount DOUBLE'}}}}
outputs:
  table: {{from: orders, table: lake}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(TEXT.format(topic=f"orders-{uuid.uuid4().hex[:8]}"))
    return path


def topic_of(file: Path) -> str:
    return file.read_text().partition("topic: ")[2].partition(",")[0]


def create(broker: BrokerProcess, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)


def produce(broker: BrokerProcess, topic: str, times_ms: list[int]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for at_ms in times_ms:
        producer.produce(
            topic, json.dumps({"id": f"o{at_ms}", "amount": 1.0}), timestamp=at_ms, partition=at_ms % 2
        )
    assert producer.flush(30) == 0


def rows(file: Path) -> list[str]:
    return sorted(DeltaTable(str(file.parent / "lake")).to_pyarrow_table().column("id").to_pylist())


# -- status


def state_of(file: Path) -> str:
    return str(file.parent / ".penstock" / "shop")


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
def test_the_status_of_a_run_is_told_from_another_process(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_lock(state_of(file), "shop"):
        assert run(["pipeline", "status", str(file)]) == 0
    told = capsys.readouterr().out
    assert "pipeline shop runs as process 4711 since 1970-01-01 00:00:00 UTC" in told
    assert "shop.table  running  4      1,234" in told
    assert "shop.table: 5 rows of orders broke `positive`" in told
    assert "known" not in told
    assert "shop.table: last error: disk full" in told


@pytest.mark.usefixtures("left")
def test_a_process_that_died_is_not_said_to_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "status", str(file)]) == 0
    assert "pipeline shop does not run: process 4711 died, last heard of" in capsys.readouterr().out


@pytest.mark.usefixtures("left")
def test_the_status_is_json_for_programs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "status", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["running"], told["pid"], told["queries"][0]["rows"]) == (False, 4711, 1234)


# -- run


def test_a_missing_topic_fails_with_the_line_before_spark_starts(
    file: Path, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pipeline", "run", str(file), "--once", "-b", shared_broker.bootstrap]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{file}:6: source orders reads topic {topic_of(file)}, which does not exist")
    assert told.count("\n") == 1


@pytest.mark.usefixtures("left")
def test_a_second_run_is_refused(
    file: Path, shared_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_lock(state_of(file), "shop"):
        assert run(["pipeline", "run", str(file), "-b", shared_broker.bootstrap]) == 1
    assert "pipeline shop runs already (process 4711)" in capsys.readouterr().err


def test_a_pipeline_runs_in_its_own_process_until_sigterm(file: Path, shared_broker: BrokerProcess) -> None:
    create(shared_broker, topic_of(file))
    produce(shared_broker, topic_of(file), [1, 2, 3])
    port = free_port()
    arguments = ["pipeline", "run", str(file), "-b", shared_broker.bootstrap, "--master", "local[2]"]
    with subprocess.Popen(
        [*COMMAND, *arguments, "--metrics-port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        try:
            await_rows(file, process, 3)
            assert is_running(state_of(file))
        finally:
            process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output == ""
    assert "penstock: stopping after SIGTERM" in errors
    assert rows(file) == ["o1", "o2", "o3"]
    status = read_status(state_of(file))
    assert status is not None
    assert (status.exit_code, {query.state for query in status.queries}) == (0, {"stopped"})


def await_rows(file: Path, process: "subprocess.Popen[str]", count: int) -> None:
    """Until every query has read so many rows: the status file is all that another process sees."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        status = read_status(state_of(file))
        if status is not None and all(query.rows >= count for query in status.queries):
            return
        time.sleep(0.2)
    raise AssertionError(f"not read: {read_status(state_of(file))}")


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
    assert run([*command, "--again", "--output", "table"]) == 0
    assert len(rows(file)) == 6


def test_a_time_that_is_none_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "backfill", str(file), "--from", "yesterday", "--to", "2026-01-01"]) == 2
    assert "`yesterday` is no time" in capsys.readouterr().err
