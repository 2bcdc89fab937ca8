from pathlib import Path

import msgspec
import pytest

from penstock.cli.bench import runner, scale
from penstock.cli.bench.context import Bench, OutOfTime
from penstock.cli.bench.machine import describe, told_load
from penstock.cli.main import run


def test_an_unknown_letter_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--only", "b9"]) != 0
    assert "--only b9" in capsys.readouterr().err


def test_every_workload_has_a_letter_of_its_own_and_says_how_it_measures() -> None:
    keys = [w.KEY for w in runner.WORKLOADS]
    assert keys == sorted(set(keys))
    assert all(w.TITLE and w.METHOD for w in runner.WORKLOADS)


def test_a_run_that_takes_too_long_is_stopped_at_its_next_step(tmp_path: Path) -> None:
    told: list[str] = []
    sizes = msgspec.structs.replace(scale.quick(), minutes_max=0.0)
    out_of_time = Bench(sizes, str(tmp_path), told.append)
    with pytest.raises(OutOfTime):
        out_of_time.say("one more")
    assert told == []


def test_data_directories_are_removed_even_when_a_workload_fails(tmp_path: Path) -> None:
    bench = Bench(scale.quick(), str(tmp_path), lambda _: None)
    with pytest.raises(ZeroDivisionError), bench.directory() as path:
        (Path(path) / "file").write_bytes(b"x")
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_the_machine_is_described_without_naming_a_path(tmp_path: Path) -> None:
    told = " ".join(describe(str(tmp_path)).values())
    assert str(tmp_path) not in told


def test_a_machine_that_is_busy_with_other_work_is_called_so() -> None:
    assert "busy" in told_load(3.8, 2)
    assert "busy" not in told_load(0.3, 2)
