import sys
from pathlib import Path

import pytest

from penstock.cli.bench.process import builds


def test_the_compiled_build_is_measured_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert builds() == {"": sys.executable}
    compiled = tmp_path / ".venv-compiled" / "bin" / "python"
    compiled.parent.mkdir(parents=True)
    compiled.touch()
    assert builds() == {"": sys.executable, ", compiled": str(compiled)}
