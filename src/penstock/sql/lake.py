"""Lake tables by path or URL: Delta, Iceberg, and directories or files of Parquet, as datasets of Arrow.

DuckDB passes filters and columns to the dataset, which skips files and row groups. Credentials are those that the
libraries find in the environment.
"""

from typing import Any

import pyarrow.dataset as ds
from pyarrow import fs

from penstock.distribution import pip_install
from penstock.sql.errors import SqlError


def open_table(path: str) -> Any:
    """Return the newest version of the table at a path or URL. Raises `SqlError`."""
    try:
        filesystem, root = _filesystem(path)
        if _exists(filesystem, f"{root}/_delta_log"):
            return _delta(path)
        if _exists(filesystem, f"{root}/metadata") or path.endswith(".metadata.json"):
            return _iceberg(path, filesystem, root)
        return _parquet(path, filesystem, root)
    except ModuleNotFoundError as missing:
        extra = "iceberg" if (missing.name or "").startswith("pyiceberg") else "sql"
        raise SqlError(
            f"the table at {path} needs the package {missing.name}: install it with `{pip_install(extra)}`"
        ) from None
    except SqlError:
        raise
    except Exception as error:  # each library has exceptions of its own
        raise SqlError(f"cannot read the table at {path}: {' '.join(str(error).split())}") from error


def _filesystem(path: str) -> tuple[Any, str]:
    if "://" not in path:
        return fs.LocalFileSystem(), path.rstrip("/")
    filesystem, root = fs.FileSystem.from_uri(path)
    return filesystem, root.rstrip("/")


def _exists(filesystem: Any, path: str) -> bool:
    (info,) = filesystem.get_file_info([path])
    return bool(info.type != fs.FileType.NotFound)


def _parquet(path: str, filesystem: Any, root: str) -> Any:
    if not _exists(filesystem, root):
        raise SqlError(f"there is no table at {path}: Delta and Iceberg tables and Parquet files are read")
    return ds.dataset(
        root, filesystem=filesystem, format="parquet", partitioning="hive", exclude_invalid_files=True
    )


def _delta(path: str) -> Any:
    from deltalake import DeltaTable  # noqa: PLC0415 - only for such a table

    return DeltaTable(path).to_pyarrow_dataset()


def _iceberg(path: str, filesystem: Any, root: str) -> Any:
    from penstock.sql.iceberg import open_iceberg  # noqa: PLC0415 - only for such a table

    return open_iceberg(path, filesystem, root)
