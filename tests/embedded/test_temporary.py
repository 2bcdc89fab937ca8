import os
from pathlib import Path

from penstock.embedded.temporary import TemporaryDirectory, remove_abandoned


def test_a_directory_with_a_live_owner_is_kept(tmp_path: Path) -> None:
    mine = TemporaryDirectory(str(tmp_path))
    remove_abandoned(str(tmp_path))
    assert os.path.isdir(mine.path)
    mine.remove()


def test_directories_of_others_are_kept(tmp_path: Path) -> None:
    (tmp_path / "penstock-of-somebody").mkdir()  # has no owner file: it is not one of ours
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "owner").touch()
    remove_abandoned(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["other", "penstock-of-somebody"]


def test_an_abandoned_directory_is_removed_with_its_contents(tmp_path: Path) -> None:
    (tmp_path / "penstock-x" / "node-1").mkdir(parents=True)
    (tmp_path / "penstock-x" / "node-1" / "file").touch()
    (tmp_path / "penstock-x" / "owner").touch()
    TemporaryDirectory(str(tmp_path)).remove()
    assert os.listdir(tmp_path) == []


def test_a_missing_parent_directory_is_ignored(tmp_path: Path) -> None:
    remove_abandoned(str(tmp_path / "nowhere"))
