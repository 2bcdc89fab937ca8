from pathlib import Path

import msgspec
import pytest

from penstock.cli.main import run
from penstock_bench import runner, scale
from penstock_bench.catalogue import Workload
from penstock_bench.context import Bench, NotMeasured
from penstock_bench.machine import describe, describe_load
from penstock_bench.peers.targets import TARGETS, TRANSACTION_TARGETS


def test_an_unknown_letter_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--only", "b9"]) != 0
    assert "--only b9" in capsys.readouterr().err


def test_another_commit_is_measured_only_where_its_source_tree_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "--only", "D"]) != 0
    assert "D needs --against DIR" in capsys.readouterr().err
    assert run(["bench", "--against", str(tmp_path)]) != 0
    assert "it has no src/penstock" in capsys.readouterr().err


def test_results_that_cannot_be_read_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_text("{}")
    assert run(["bench", "--with", str(tmp_path / "none.json")]) != 0
    assert "none.json: No such file" in capsys.readouterr().err
    assert run(["bench", "--with", str(tmp_path / "odd.json")]) != 0
    assert "odd.json is not a result of this benchmark" in capsys.readouterr().err


def test_the_smallest_comparison_runs_from_the_command_to_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    arguments = ["bench", "--quick", "--only", "l", "--seconds", "0.1", "--targets", "page cache"]
    assert run([*arguments, "--results", str(tmp_path / "results"), "--write-docs", str(page)]) == 0
    text = page.read_text()
    assert "| Penstock, page cache | page cache |" in text
    assert "| Apache Kafka" not in text or "not requested" in text
    assert [path.suffix for path in (tmp_path / "results").iterdir()] == [".json"]


def test_a_server_that_is_missing_is_named_with_the_reason() -> None:
    states = runner.target_states({"Penstock": "1.0"}, {"RabbitMQ": "no Erlang"})
    by_name = {state.name: state.state for state in states}
    assert by_name["Penstock"] == "measured"
    assert by_name["RabbitMQ, quorum queue"] == "**missing:** no Erlang"
    assert by_name["Redis Streams"] == "not requested"
    assert runner.target_states({}, {}) == ()


def test_a_target_of_a_single_comparison_is_listed_when_the_run_has_it() -> None:
    def names(absent: dict[str, str]) -> list[str]:
        return [state.name for state in runner.target_states({"Penstock": "1.0"}, absent)]

    for target in (each for each in TRANSACTION_TARGETS if each not in TARGETS):
        assert target.name not in names({})
        assert target.name in names({target.product_name: "no Java"})


def test_the_list_names_every_workload_with_its_goals(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "A lone synchronous producer" in listed
    assert ">= 0.7" in listed


def test_a_run_that_takes_too_long_is_stopped_at_its_next_step(tmp_path: Path) -> None:
    text: list[str] = []
    sizes = msgspec.structs.replace(scale.QUICK, minutes_max=0.0)
    out_of_time = Bench(sizes, str(tmp_path), text.append)
    with pytest.raises(NotMeasured):
        out_of_time.log("one more")
    assert text == []


def test_values_measured_before_the_time_limit_are_kept(tmp_path: Path) -> None:
    class Slow(Workload, frozen=True):
        def run(self, bench: Bench) -> None:
            bench.board.add("rate", 5.0, "/s", TARGETS[0])
            bench.board.add("start", 0.5, "s")
            raise NotMeasured("no more")

    slow = Slow(letter="l", function="slow", title="Slow", method="One round, then none.")
    section = runner.run_one(Bench(scale.QUICK, str(tmp_path), lambda _: None), slow)
    assert section.failure == "no more"
    assert section.comparisons[0].rows[0].series.values == (5.0,)
    assert section.figures[0].series.values == (0.5,)


def test_data_directories_are_removed_even_when_a_workload_fails(tmp_path: Path) -> None:
    bench = Bench(scale.QUICK, str(tmp_path), lambda _: None)
    with pytest.raises(ZeroDivisionError), bench.directory() as path:
        (Path(path) / "file").write_bytes(b"x")
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_the_machine_is_described_without_naming_a_path(tmp_path: Path) -> None:
    text = " ".join(describe(str(tmp_path)).values())
    assert str(tmp_path) not in text


def test_a_busy_machine_is_reported() -> None:
    assert "busy" in describe_load(3.8, 2)
    assert "busy" not in describe_load(0.3, 2)
