from pathlib import Path

import pytest

from tools.setup_spark_connector import Jar, NotFetched, Outcome, choose, connector_jars, jars_for

JARS = (Jar(name="g:a", versions=("4.3.0", "4.2.0", "4.0.0")), Jar(name="g:b", versions=("1",)))


def test_the_best_available_version_of_each_jar_is_used() -> None:
    there = {"g:a:4.2.0", "g:a:4.0.0", "g:b:1"}
    asked: list[str] = []

    def take(coordinates: str) -> Outcome:
        asked.append(coordinates)
        return Outcome.TAKEN if coordinates in there else Outcome.ABSENT

    assert choose(JARS, take) == ["g:a:4.2.0", "g:b:1"]
    assert asked == ["g:a:4.3.0", "g:a:4.2.0", "g:b:1"]


def test_a_jar_without_any_version_is_reported_by_name() -> None:
    with pytest.raises(NotFetched, match=r"none of the versions 4\.3\.0, 4\.2\.0, 4\.0\.0 of g:a"):
        choose(JARS, lambda _: Outcome.ABSENT)


def test_an_unreachable_repository_is_not_retried() -> None:
    asked: list[str] = []

    def take(coordinates: str) -> Outcome:
        asked.append(coordinates)
        return Outcome.UNREACHABLE

    with pytest.raises(NotFetched, match="cannot be reached"):
        choose(JARS, take)
    assert asked == ["g:a:4.3.0"]


def test_the_version_of_the_installed_spark_comes_first_and_only_older_ones_after_it() -> None:
    assert jars_for("4.1.0")[0].versions == ("4.1.0", "4.0.1", "4.0.0")
    assert jars_for("4.10.2")[1].versions[:2] == ("4.10.2", "4.3.0")


def test_there_are_no_jars_where_none_were_fetched(tmp_path: Path) -> None:
    assert connector_jars(tmp_path / "missing") == []
    (tmp_path / "versions.txt").touch()
    (tmp_path / "a.jar").touch()
    assert connector_jars(tmp_path) == [str(tmp_path / "a.jar")]
