"""The command in an installation of the wheel, which does not hold the benchmark. `tests/bench` has the rest."""

import importlib
import importlib.util
from collections.abc import Iterator

import pytest

from penstock.cli import bench
from penstock.cli.main import run


@pytest.fixture
def _without_benchmark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda _name: None)
        importlib.reload(bench)
    yield
    importlib.reload(bench)


@pytest.mark.usefixtures("_without_benchmark")
@pytest.mark.parametrize("arguments", [[], ["--quick"], ["--only", "bc"], ["b"]])
def test_without_the_source_tree_the_command_says_where_the_benchmark_is(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", *arguments]) == 2
    assert "Clone the source of Penstock" in capsys.readouterr().err
