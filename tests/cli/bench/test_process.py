import sys
from pathlib import Path

import pytest

from penstock.cli.bench.process import builds, parse_written_bytes


def test_the_compiled_build_is_measured_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert builds() == {"": sys.executable}
    compiled = tmp_path / ".venv-compiled" / "bin" / "python"
    compiled.parent.mkdir(parents=True)
    compiled.touch()
    assert builds() == {"": sys.executable, ", compiled": str(compiled)}


def test_bytes_written_to_storage_are_read_from_what_the_kernel_says_of_a_process() -> None:
    io = (
        "rchar: 5\nwchar: 7\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n"
    )
    assert parse_written_bytes(io) == 4096
