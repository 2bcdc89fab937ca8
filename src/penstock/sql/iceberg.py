"""Iceberg tables by the path of the table, as a dataset of the files of the newest version."""

from typing import Any

import pyarrow.dataset as ds
from pyarrow import fs
from pyiceberg.table import StaticTable

from penstock.sql.errors import SqlError


def open_iceberg(path: str, filesystem: Any, root: str) -> Any:
    """Open the newest metadata. Raises `SqlError` for a table with deleted rows, which a list of files ignores."""
    location = path if path.endswith(".metadata.json") else _newest_metadata(path, filesystem, root)
    table = StaticTable.from_metadata(location)
    tasks = list(table.scan().plan_files())
    if any(task.delete_files for task in tasks):
        raise SqlError(f"the Iceberg table at {path} has delete files: compact it first, then query it")
    schema = table.schema().as_arrow()
    files = [_within(task.file.file_path, filesystem) for task in tasks]
    if not files:
        return schema.empty_table()
    return ds.dataset(files, filesystem=filesystem, format="parquet", schema=schema)


def _newest_metadata(path: str, filesystem: Any, root: str) -> str:
    found = filesystem.get_file_info(fs.FileSelector(f"{root}/metadata"))
    names = [each for each in found if each.path.endswith(".metadata.json")]
    if not names:
        raise SqlError(f"there is no Iceberg table at {path}: its metadata has no versions")
    newest = max(names, key=lambda each: each.base_name)
    return f"{path.rstrip('/')}/metadata/{newest.base_name}"


def _within(location: str, filesystem: Any) -> str:
    """Return the path of a file inside its filesystem."""
    del filesystem
    return fs.FileSystem.from_uri(location)[1] if "://" in location else location.removeprefix("file:")
