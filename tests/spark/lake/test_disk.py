import os
from pathlib import Path

import pytest

from penstock.spark.lake.disk import Disk


def test_two_threads_can_replace_the_same_file_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, path, fsync = Disk(str(tmp_path)), "hint", os.fsync

    def write_again(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        disk.write(path, b"second")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", write_again)
    disk.write(path, b"first")
    assert disk.read(path) == b"first"
    assert os.listdir(tmp_path) == ["hint"]
