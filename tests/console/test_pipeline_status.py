import fcntl
import json
from pathlib import Path

from penstock.console.pipeline_status import read_statuses


def _status(directory: Path, text: str) -> str:
    directory.mkdir()
    (directory / "status.json").write_text(text)
    return str(directory)


def test_the_status_of_a_pipeline_includes_whether_it_runs(tmp_path: Path) -> None:
    directory = _status(tmp_path / "payments", json.dumps({"pipeline": "payments", "pid": 7, "queries": []}))
    assert read_statuses([directory])["payments"] == {
        "pipeline": "payments",
        "pid": 7,
        "queries": [],
        "running": False,
    }
    with (tmp_path / "payments" / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert read_statuses([directory])["payments"]["running"] is True


def test_directories_without_a_readable_status_are_skipped(tmp_path: Path) -> None:
    broken = _status(tmp_path / "broken", "{")
    odd = _status(tmp_path / "odd", '["pipeline"]')
    assert read_statuses([broken, odd, str(tmp_path / "absent")]) == {}
