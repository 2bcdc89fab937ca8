"""The permissions of the broker's files."""

import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.embedded.closable_files import ClosableFiles
from penstock.storage.directory import metadata_files
from penstock.storage.files import RealFileSystem


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("files", [RealFileSystem(), ClosableFiles()])
def test_created_files_are_accessible_to_their_owner_only_whatever_the_umask(
    tmp_path: Path, files: RealFileSystem
) -> None:
    files.make_dirs(f"{tmp_path}/made/data/orders-0")
    files.make_dirs(f"{tmp_path}/made/data/orders-0")
    files.open(f"{tmp_path}/made/data/log", create=True).close()
    with files.lock(f"{tmp_path}/made/data/lock"):
        pass
    assert {mode(tmp_path / each) for each in ("made", "made/data", "made/data/orders-0")} == {0o700}
    assert {mode(tmp_path / each) for each in ("made/data/log", "made/data/lock")} == {0o600}


def test_a_file_in_the_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(FileExistsError):
        RealFileSystem().make_dirs(f"{tmp_path}/data")


def test_a_data_directory_open_to_others_is_restricted_and_this_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    for _ in range(2):
        metadata_files.restrict_access(RealFileSystem(), f"{tmp_path}/data")
    assert mode(tmp_path / "data") == 0o700
    [line] = [each.getMessage() for each in caplog.records]
    assert line == f"Changed the mode of {tmp_path}/data from 0755 to 0700: it holds records and credentials"


def test_a_shared_directory_keeps_its_mode_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o1777)
    with pytest.raises(PermissionError) as refused:
        RealFileSystem().restrict(f"{tmp_path}/data")
    assert refused.value.errno == errno.EPERM
    metadata_files.restrict_access(RealFileSystem(), f"{tmp_path}/data")
    assert mode(tmp_path / "data") == 0o1777
    [record] = caplog.records
    assert (record.levelno, "Others may read" in record.getMessage()) == (logging.WARNING, True)
