"""Cases files found and selected."""

from pathlib import Path

import pytest

from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.testing.cases.find import CasesNotFound, find_cases, read_file, select_cases

CASES = "cases: [{name: First, given: {}}, {name: second, given: {}}]"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    for name in ("a.tests.yaml", "below/b.tests.yml"):
        (tmp_path / name).write_text(CASES)
    (tmp_path / "a.yaml").write_text("pipeline: broken")
    (tmp_path / "c.yaml").write_text("")
    (tmp_path / "notes.txt").write_text("")
    return tmp_path


def test_directories_pipelines_and_cases_files_lead_to_cases_files(files: Path) -> None:
    a, b = str(files / "a.tests.yaml"), str(files / "below" / "b.tests.yml")
    assert find_cases([str(files)]) == [a, b]
    assert find_cases([str(files / "a.yaml"), a]) == [a]
    assert find_cases([str(files / "below" / "b.py"), str(files)]) == [b, a]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("c.yaml", "has no cases: write them to"),
        ("other.yaml", "there is no file"),
        ("notes.txt", "neither a pipeline file nor"),
        ("empty", r"there is no file \*\.tests\.yaml below"),
    ],
)
def test_a_path_without_cases_is_refused(files: Path, path: str, reason: str) -> None:
    (files / "empty").mkdir()
    with pytest.raises(CasesNotFound, match=reason):
        find_cases([str(files / path)])


def test_cases_without_a_pipeline_are_refused(files: Path) -> None:
    with pytest.raises(PipelineError, match=r"no pipeline beside it: none of b\.yaml, b\.yml, b\.py"):
        read_file(str(files / "below" / "b.tests.yml"))


def test_a_pattern_selects_by_path_and_name(files: Path) -> None:
    file = read_file(str(files / "a.tests.yaml"))
    assert [case.name for each in select_cases([file], "FIRST") for case in each.cases] == ["First"]
    assert [case.name for each in select_cases([file], "a.tests") for case in each.cases] == [
        "First",
        "second",
    ]
    assert select_cases([file], "third") == []
