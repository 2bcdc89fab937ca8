"""`penstock pipeline run` as a user starts it: a process of its own, with a JVM of its own."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from penstock.spark.pipeline.progress.status import is_running, read_status
from tests.cli.conftest import COMMAND, ENVIRONMENT
from tests.spark.pipeline.shop import create, produce, rows, state_of, topic_of
from tests.support.broker import BrokerProcess, free_port

pytestmark = [pytest.mark.xdist_group("spark_processes"), pytest.mark.timeout(300)]


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
