from pathlib import Path

import msgspec
import pytest

from penstock.cli.bench import LETTERS, runner, scale
from penstock.cli.bench.context import Bench, OutOfTime
from penstock.cli.bench.figures import Section
from penstock.cli.bench.machine import describe, told_load
from penstock.cli.bench.peers.targets import TARGETS, TRANSACTION_TARGETS
from penstock.cli.main import run


def test_an_unknown_letter_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--only", "b9"]) != 0
    assert "--only b9" in capsys.readouterr().err


def test_results_that_cannot_be_read_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_text("{}")
    assert run(["bench", "--with", str(tmp_path / "none.json")]) != 0
    assert "none.json: No such file" in capsys.readouterr().err
    assert run(["bench", "--with", str(tmp_path / "odd.json")]) != 0
    assert "odd.json is no result of this benchmark" in capsys.readouterr().err


def test_the_smallest_comparison_runs_from_the_command_to_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    arguments = ["bench", "--quick", "--only", "l", "--seconds", "0.1", "--targets", "page cache"]
    assert run([*arguments, "--results", str(tmp_path / "results"), "--write-docs", str(page)]) == 0
    told = page.read_text()
    assert "| Penstock, page cache | page cache |" in told
    assert "| Apache Kafka" not in told or "not asked for" in told
    assert [path.suffix for path in (tmp_path / "results").iterdir()] == [".json"]


def test_a_server_that_is_missing_is_named_with_the_reason() -> None:
    states = runner.target_states({"Penstock": "1.0"}, {"RabbitMQ": "no Erlang"})
    by_name = {state.name: state.state for state in states}
    assert by_name["Penstock"] == "measured"
    assert by_name["RabbitMQ, quorum queue"] == "**missing:** no Erlang"
    assert by_name["Redis Streams"] == "not asked for"
    assert runner.target_states({}, {}) == ()


def test_a_target_of_a_single_comparison_is_named_when_that_was_asked_for() -> None:
    def names(absent: dict[str, str]) -> list[str]:
        return [state.name for state in runner.target_states({"Penstock": "1.0"}, absent)]

    for target in (each for each in TRANSACTION_TARGETS if each not in TARGETS):
        assert target.name not in names({})
        assert target.name in names({target.server: "no Java"})


def test_every_workload_has_a_letter_of_its_own_and_says_how_it_measures() -> None:
    keys = [w.KEY for w in runner.WORKLOADS]
    assert len(set(keys)) == len(keys)
    assert keys == sorted(keys, key=str.swapcase)  # as the page has them: a to z, then A
    assert set(keys) == set(LETTERS)
    assert all(w.TITLE and w.METHOD for w in runner.WORKLOADS)


def test_a_run_that_takes_too_long_is_stopped_at_its_next_step(tmp_path: Path) -> None:
    told: list[str] = []
    sizes = msgspec.structs.replace(scale.quick(), minutes_max=0.0)
    out_of_time = Bench(sizes, str(tmp_path), told.append)
    with pytest.raises(OutOfTime):
        out_of_time.say("one more")
    assert told == []


def test_what_was_measured_before_the_time_was_up_is_kept(tmp_path: Path) -> None:
    class Slow:
        KEY, TITLE, METHOD = "l", "Slow", "One round, then none."

        def run(self, bench: Bench) -> Section:
            bench.new_board().add(TARGETS[0], "rate", 5.0, "/s")
            raise OutOfTime("no more")

    section = runner.run_one(Bench(scale.quick(), str(tmp_path), lambda _: None), Slow())
    assert section.failure == "no more"
    assert section.comparisons[0].rows[0].series.values == (5.0,)


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
