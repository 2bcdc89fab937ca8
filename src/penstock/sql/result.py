"""The rows of a query. They are read from the brokers when they are fetched, and again each time that they are."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa

from penstock.arrow.ranges import DataLoss
from penstock.client.errors import ClientError
from penstock.protocol.records.errors import CorruptRecords
from penstock.sql.dataset import TopicDataset
from penstock.sql.errors import SqlError, of_duckdb
from penstock.sql.scan import ScanStats

BATCH_ROWS: Final = 2048 * 8


class Result:
    """What a query found: `df()`, `arrow()`, `fetchall()`, or `batches()` for more rows than memory holds."""

    def __init__(
        self, cursor: Any, query: str, datasets: Sequence[TopicDataset], *, relation: Any = None
    ) -> None:
        self._cursor = cursor
        self._query = query
        self._datasets = datasets
        with self._errors():
            self._relation = cursor.sql(query) if relation is None else relation
        if self._relation is None:
            raise SqlError("the statement has no rows: write a query")

    @property
    def columns(self) -> list[str]:
        return list(self._relation.columns)

    @property
    def types(self) -> list[str]:
        return [str(each) for each in self._relation.types]

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types in Arrow. Reads nothing."""
        with self._errors():
            found: pa.Schema = self._relation.limit(0).to_arrow_table().schema
            return found

    @property
    def stats(self) -> list[ScanStats]:
        """What has been read from topics so far, for each scan of one."""
        return [scan for dataset in self._datasets for scan in dataset.scans]

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they are found. A query that sorts or groups has spilled what exceeds its memory."""
        with self._errors():
            yield from self._relation.to_arrow_reader(rows)

    def arrow(self) -> pa.Table:
        with self._errors():
            found: pa.Table = self._relation.to_arrow_table()
            return found

    def df(self) -> Any:
        """Return a DataFrame of pandas."""
        with self._errors():
            return self._relation.df()

    def fetchall(self) -> list[tuple[Any, ...]]:
        with self._errors():
            found: list[tuple[Any, ...]] = self._relation.fetchall()
            return found

    def close(self) -> None:
        self._cursor.close()

    def __repr__(self) -> str:
        with self._errors():
            return repr(self._relation)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of a scan come through DuckDB as text; those of a broker are raised as they were."""
        try:
            yield
        except DataLoss as error:
            raise SqlError(f"records were deleted while they were read: {'; '.join(error.losses)}") from error
        except (ClientError, CorruptRecords) as error:
            raise SqlError(str(error)) from error
        except RuntimeError as error:  # how DuckDB passes on Ctrl-C
            if "interrupted" in str(error):
                raise KeyboardInterrupt from None
            raise
        except (duckdb.Error, pa.ArrowException) as error:
            raise of_duckdb(error, self._query) from error
