"""On a file system that refuses direct writes, these tests check that none are made."""

import errno
import os
from pathlib import Path
from random import Random

import pytest

from penstock.storage.direct import AlignedBuffer, open_direct, wait_for_direct_writes
from penstock.storage.files import File, RealFileSystem
from penstock_simulation.disk import FaultyDisk

CONTENT = Random(1).randbytes(16_384)


def open_file(path: Path) -> File:
    path.write_bytes(CONTENT)
    return RealFileSystem().open(str(path))


def test_opening_a_file_for_direct_writes_changes_nothing_in_it(tmp_path: Path) -> None:
    file = open_file(tmp_path / "a")
    found = open_direct(file)
    assert file.read(file.size(), 0) == CONTENT
    if found is not None:
        os.close(found)
    file.close()


def test_a_block_that_is_written_directly_is_read_through_the_page_cache(tmp_path: Path) -> None:
    file = open_file(tmp_path / "a")
    found = open_direct(file)
    if found is not None:
        buffer = AlignedBuffer()
        size_bytes = buffer.fill((b"x" * 1000, b"y" * 3096))
        os.pwrite(found, buffer.view(size_bytes), 8192)
        assert file.read(file.size(), 0) == CONTENT[:8192] + b"x" * 1000 + b"y" * 3096 + CONTENT[12_288:]
        os.close(found)
    file.close()


def test_a_file_system_that_refuses_direct_writes_leaves_no_descriptor_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    file = open_file(tmp_path / "a")
    before = len(os.listdir("/proc/self/fd"))
    for call in ("pwrite", "pread"):
        monkeypatch.setattr(os, call, refuse)
        assert open_direct(file) is None
    assert len(os.listdir("/proc/self/fd")) == before
    file.close()


def test_a_file_without_a_descriptor_has_no_direct_one() -> None:
    assert open_direct(FaultyDisk(Random(1)).open("/a", create=True)) is None


def test_a_buffer_grows_with_what_is_written() -> None:
    buffer = AlignedBuffer()
    for size_bytes in (512, 100_000, 1 << 20, 512):
        data = Random(size_bytes).randbytes(size_bytes)
        assert buffer.fill((data[:100], data[100:])) == size_bytes
        assert bytes(buffer.view(size_bytes)) == data
        assert buffer.address % 4096 == 0


def test_waiting_for_writes_of_an_earlier_process_leaves_the_files_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(CONTENT)
    wait_for_direct_writes(RealFileSystem(), [str(tmp_path / "missing"), str(tmp_path / "a")])
    assert (tmp_path / "a").read_bytes() == CONTENT
