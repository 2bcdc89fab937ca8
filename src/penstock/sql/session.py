"""A session: queries over topics and lake tables, in one DuckDB that can reach nothing else.

Each query gets a connection of its own, with a view for each table that it names. The offsets at which topics end are
taken before it runs.
"""

import contextlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

import duckdb
import msgspec
import pyarrow as pa

from penstock.client.blocking.client import BlockingClient
from penstock.sql.columns import ERROR, OFFSET, PARTITION
from penstock.sql.dataset import TopicDataset
from penstock.sql.errors import SqlError, of_duckdb
from penstock.sql.explain import explain
from penstock.sql.follow import check_followable
from penstock.sql.lake import open_table
from penstock.sql.names import quoted, text_literal
from penstock.sql.query import Query, TableName, parse_query
from penstock.sql.result import Result
from penstock.sql.schema import TopicSchema
from penstock.sql.topics import TopicFormat, Topics, quoted_if_needed, unknown_table

_FOLLOW_S: Final = 0.25
MEMORY_DEFAULT: Final = "1GB"
_MACROS: Final = (
    # The text of a header, of the last one if there are more of a name.
    "CREATE TEMP MACRO header(headers, name) AS "
    "decode(list_filter(headers, lambda each: each.key = name)[-1].value)"
)


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`tables` are lake tables by name; with `allows_paths` a query may also name them by their path or URL."""

    schemas: Mapping[str, TopicSchema] = {}
    registry_url: str | None = None
    tables: Mapping[str, str] = {}
    allows_paths: bool = True
    fails_on_error: bool = False
    is_time_ordered: bool = False
    memory_limit: str = MEMORY_DEFAULT
    spill_limit: str | None = None
    threads: int | None = None


class Session:
    def __init__(self, client: BlockingClient, settings: SessionSettings | None = None) -> None:
        self.settings = settings or SessionSettings()
        self._closing = contextlib.ExitStack()
        self._closing.callback(client.close)
        # DuckDB makes the directory when it spills.
        directory = os.path.join(tempfile.gettempdir(), f"penstock-sql-{uuid.uuid4().hex}")
        self._closing.callback(shutil.rmtree, directory, ignore_errors=True)
        self._database = self._closing.enter_context(_open_database(self.settings, directory))
        self.topics = Topics(
            client,
            self.settings.schemas,
            registry_url=self.settings.registry_url,
            is_time_ordered=self.settings.is_time_ordered,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()

    def sql(self, text: str) -> Result:
        """Check a query and fix what it reads; it runs when its rows are fetched. Raises `SqlError`."""
        query = parse_query(text)
        if query.lists_tables:
            return self._list_tables()
        cursor, datasets = self.prepare(query)
        if query.explains is not None:
            return Result(cursor, query.text, [], relation=explain(cursor, query, datasets))
        if query.describes:
            text = query.text.rstrip().rstrip(";")
            return Result(cursor, f"SELECT column_name, column_type FROM ({text})", [])  # noqa: S608
        return Result(cursor, query.text, datasets)

    def follow(self, text: str) -> Iterator[Result]:
        """Yield a result for the records up to now, and one for new records whenever there are some, without an end.

        Raises `SqlError` for a query whose rows depend on more than one record.
        """
        query = parse_query(text)
        check_followable(query)
        dataset: TopicDataset | None = None
        while True:
            cursor = self._cursor()
            for table in query.tables:
                dataset = self._add_table(cursor, query, table, dataset)
            if dataset is None:
                raise SqlError("only a query of a topic can be followed")
            if dataset.snapshot.records_max:
                yield Result(cursor, query.text, [dataset])
            cursor.close()
            time.sleep(_FOLLOW_S)

    def names(self) -> list[str]:
        """Return the names of all tables as a query writes them."""
        return [quoted_if_needed(name) for name in (*self.topics.names(), *self.settings.tables)]

    def columns_in(self, text: str) -> set[str]:
        """Return the columns of the tables in a query."""
        query = parse_query(text)
        cursor, _ = self.prepare(query)
        with contextlib.closing(cursor):
            return {
                name
                for table in query.tables
                for name in cursor.sql(f"FROM {'.'.join(map(quoted, table.path))}").columns
            }

    def prepare(self, query: Query) -> tuple[Any, list[TopicDataset]]:
        """Make a connection that has the query's tables."""
        cursor = self._cursor()
        found = [self._add_table(cursor, query, table) for table in query.tables]
        return cursor, [dataset for dataset in found if dataset is not None]

    def _cursor(self) -> Any:
        cursor = self._database.cursor()
        cursor.execute(_MACROS).fetchall()
        return cursor

    def _add_table(
        self, cursor: Any, query: Query, table: TableName, after: TopicDataset | None = None
    ) -> TopicDataset | None:
        name = table.path[-1]
        path = self.settings.tables.get(name)
        if path is None and "/" in name:
            if not self.settings.allows_paths:
                raise SqlError(f"tables by path are not available here: {name}", query.position(table))
            path = name
        if path is not None and len(table.path) == 1:
            try:
                cursor.register(name, open_table(path))
            except SqlError as error:
                raise SqlError(str(error), query.position(table)) from error
            return None
        if _is_catalog(table.path):
            return None
        topic = self.topics.find(table.name)
        if topic is None:
            if name.lower() in query.with_names:
                return None
            known = [*self.topics.names(), *self.settings.tables]
            raise SqlError(unknown_table(table.name, known), query.position(table))
        if len(table.path) > 1:
            raise SqlError(
                f"{table.name} is read as a table in a schema: quote the topic's name, {quoted(topic)}",
                query.position(table),
            )
        dataset, found = self.topics.open(topic, None if after is None else after.snapshot)
        self.add_view(cursor, query, name, dataset, found)
        return dataset

    def add_view(
        self, cursor: Any, query: Query, name: str, dataset: TopicDataset, found: TopicFormat
    ) -> None:
        raw = f"records of {name}"
        cursor.register(raw, dataset)
        select = found.view(raw, query)
        if self.settings.fails_on_error:
            where = (
                f"{text_literal(f'{dataset.snapshot.topic}-')} || {PARTITION} || ' at offset ' || {OFFSET}"
            )
            failure = f"error('record of ' || {where} || ': ' || {ERROR})"
            select = f"SELECT * FROM ({select}) WHERE CASE WHEN {ERROR} IS NULL THEN true ELSE {failure} END"  # noqa: S608
        cursor.execute(f"CREATE TEMP VIEW {quoted(name)} AS {select}").fetchall()

    def _list_tables(self) -> Result:
        names = self.topics.names()
        rows: list[tuple[str, str, int | None]] = [(name, "topic", count) for name, count in names.items()]
        rows += [(name, "lake", None) for name in self.settings.tables]
        found = pa.table(
            {
                "name": pa.array([row[0] for row in rows], pa.string()),
                "kind": pa.array([row[1] for row in rows], pa.string()),
                "partitions": pa.array([row[2] for row in rows], pa.int32()),
            }
        )
        cursor = self._database.cursor()
        return Result(cursor, "SHOW TABLES", [], relation=cursor.from_arrow(found))


def _open_database(settings: SessionSettings, directory: str) -> Any:
    """Open a DuckDB in memory that spills to a directory, and reaches no files, networks and Python variables."""
    config: dict[str, str | int] = {
        "enable_external_access": "false",
        "python_enable_replacements": "false",
        "memory_limit": settings.memory_limit,
        "temp_directory": directory,
    }
    if settings.threads is not None:
        config["threads"] = settings.threads
    if settings.spill_limit is not None:
        config["max_temp_directory_size"] = settings.spill_limit
    try:
        database = duckdb.connect(config=config)
    except duckdb.Error as error:
        raise of_duckdb(error, "") from None
    database.execute("SET lock_configuration = true").fetchall()
    return database


def _is_catalog(path: Sequence[str]) -> bool:
    return path[0].lower() in ("information_schema", "pg_catalog", "system", "temp") or (
        path[-1].lower().startswith("duckdb_")
    )
