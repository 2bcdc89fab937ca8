"""The status file and the lock of a run."""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.spark.pipeline.progress.status import (
    RUNNING,
    AlreadyRunning,
    CheckpointOwnerMismatch,
    QueryStatus,
    RunStatus,
    is_running,
    read_status,
    run_lock,
    write_status,
)

STATUS = RunStatus(
    pipeline="shop",
    file="shop.yaml",
    pid=4711,
    started_ms=1,
    updated_ms=2,
    queries=(QueryStatus(name="shop.table", state=RUNNING, broken={"orders": {"positive": 1}}),),
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_status(str(tmp_path), STATUS)
    assert read_status(str(tmp_path)) == STATUS
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


def test_a_pipeline_that_never_ran_has_no_status(tmp_path: Path) -> None:
    assert read_status(str(tmp_path)) is None
    assert not is_running(str(tmp_path))


def test_a_pipeline_runs_while_its_lock_is_held(tmp_path: Path) -> None:
    with run_lock(str(tmp_path / "state"), "shop"):
        assert is_running(str(tmp_path / "state"))
    assert not is_running(str(tmp_path / "state"))


def test_a_second_run_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    write_status(str(tmp_path), STATUS)
    with (
        run_lock(str(tmp_path), "shop"),
        pytest.raises(AlreadyRunning, match=r"pipeline shop is running already \(process 4711\)"),
        run_lock(str(tmp_path), "shop"),
    ):
        pass


def test_checkpoints_of_another_pipeline_are_refused_with_both_names(tmp_path: Path) -> None:
    write_status(str(tmp_path), STATUS)
    with (
        pytest.raises(
            CheckpointOwnerMismatch, match=r"belong to pipeline shop \(shop.yaml\), not to billing"
        ),
        run_lock(str(tmp_path), "billing"),
    ):
        pass
    with run_lock(str(tmp_path), "shop"):
        pass


def test_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from penstock.spark.pipeline.progress.status import run_lock\n"
        "with run_lock(sys.argv[1], 'shop'):\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        assert is_running(str(tmp_path))
        process.kill()
    assert not is_running(str(tmp_path))
