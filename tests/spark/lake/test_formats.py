import importlib
from pathlib import Path
from types import ModuleType

import pytest

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.formats import existing_table, format_at, open_table


def test_a_directory_without_a_table_has_no_format(tmp_path: Path) -> None:
    assert format_at(str(tmp_path)) is None
    with pytest.raises(TableError, match="there is no table at"):
        existing_table(str(tmp_path))


def test_the_error_for_a_missing_library_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_pyiceberg(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"no {name}", name="pyiceberg")

    monkeypatch.setattr(importlib, "import_module", without_pyiceberg)
    with pytest.raises(
        TableError, match=r"need the package pyiceberg: pip install 'penstock-broker\[iceberg\]'"
    ):
        open_table(str(tmp_path), "iceberg")
