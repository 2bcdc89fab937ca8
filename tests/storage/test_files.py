"""The permissions of the broker's files."""

import errno
import logging
import os
import subprocess
import sys
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


def test_a_lock_holds_against_a_process_with_the_kind_of_lock_that_java_takes(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    script = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB); print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, path]
    with RealFileSystem().lock(path):
        refused = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert b"BlockingIOError" in refused.stderr
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(BlockingIOError), RealFileSystem().lock(path):
            pass
        holder.communicate()
