"""The writers, called as Spark calls them but without Spark."""

import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from penstock.spark.lake.datasource import PenstockLakeDataSource
from penstock.spark.lake.errors import SchemaMismatch, TableError
from penstock.spark.lake.formats import TABLE_FORMATS, open_table
from penstock.spark.lake.writer import TableStreamWriter, TaskCommitMessage, arrow_schema
from tests.spark.lake.support import ids

ROWS = spark.StructType([spark.StructField("id", spark.IntegerType(), nullable=False)])


def source(path: Path, **options: str) -> PenstockLakeDataSource:
    return PenstockLakeDataSource({"path": str(path), **options})


def stream_writer(path: Path, *, overwrite: bool = False, **options: str) -> TableStreamWriter:
    writer = source(path, **options).streamWriter(ROWS, overwrite)
    assert isinstance(writer, TableStreamWriter)
    return writer


def batches(*numbers: int) -> Any:
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False)])
    return iter([pa.RecordBatch.from_pylist([{"id": each} for each in numbers], schema=schema)])


def parquet_files(path: Path) -> list[str]:
    return [str(each) for each in path.rglob("part-*")]


@pytest.fixture(params=TABLE_FORMATS)
def table_format(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def test_a_batch_that_was_committed_is_skipped_and_its_files_removed(
    tmp_path: Path, table_format: str
) -> None:
    path = tmp_path / "t"
    for _ in range(2):
        writer = stream_writer(path, table_format=table_format, query_id="q")
        writer.commit([writer.write(batches(1, 2)), writer.write(batches(3))], 0)
    assert ids(open_table(str(path))) == [1, 2, 3]
    assert len(parquet_files(path)) == 2


def test_a_failed_batch_leaves_its_files_to_vacuum_as_its_commit_may_still_be_going_on(
    tmp_path: Path, table_format: str
) -> None:
    writer = stream_writer(tmp_path, table_format=table_format, query_id="q")
    message = writer.write(batches(1))
    writer.abort([message, None], 0)
    writer.commit([message], 0)
    assert ids(open_table(str(tmp_path))) == [1]


def test_a_batch_without_tasks_or_rows_makes_the_table_and_no_version(
    tmp_path: Path, table_format: str
) -> None:
    writer = stream_writer(tmp_path, table_format=table_format)
    writer.commit([], 0)
    writer.commit([writer.write(iter([]))], 1)
    table = open_table(str(tmp_path))
    assert ids(table) == []
    assert [each.batch_id for each in table.history(10) if each.batch_id is not None] == []


def test_complete_mode_replaces_the_table_even_with_nothing(tmp_path: Path, table_format: str) -> None:
    writer = stream_writer(tmp_path, table_format=table_format, query_id="q")
    writer.commit([writer.write(batches(1, 2))], 0)
    complete = stream_writer(tmp_path, overwrite=True, table_format=table_format, query_id="q")
    complete.commit([complete.write(batches(9))], 1)
    assert ids(open_table(str(tmp_path))) == [9]
    complete.commit([complete.write(batches())], 2)
    assert ids(open_table(str(tmp_path))) == []


def test_the_query_of_the_tasks_counts_before_that_of_the_options(tmp_path: Path) -> None:
    writer = stream_writer(tmp_path, query_id="fallback")
    written = writer.write(batches(1))
    assert isinstance(written, TaskCommitMessage)
    writer.commit([TaskCommitMessage(query_id="real", files=written.files)], 3)
    assert [(each.query_id, each.batch_id) for each in open_table(str(tmp_path)).history(1)] == [("real", 3)]


def test_a_batch_write_inside_a_query_may_go_by_another_name(tmp_path: Path) -> None:
    writer = source(tmp_path, query_id="mine", batch_id="3").writer(ROWS, overwrite=False)
    written = writer.write(batches(1))
    assert isinstance(written, TaskCommitMessage)
    writer.commit([TaskCommitMessage(query_id="spark's", files=written.files)])
    assert [(each.query_id, each.batch_id) for each in open_table(str(tmp_path)).history(1)] == [("mine", 3)]


def test_rows_of_an_unknown_query_are_not_committed(tmp_path: Path) -> None:
    writer = stream_writer(tmp_path)
    with pytest.raises(TableError, match="set the option query_id"):
        writer.commit([writer.write(batches(1))], 0)


def test_a_batch_write_is_repeated_unless_it_says_which_batch_it_is(tmp_path: Path) -> None:
    for _ in range(2):
        writer = source(tmp_path / "plain").writer(ROWS, overwrite=False)
        writer.commit([writer.write(batches(1))])
        once = source(tmp_path / "once", query_id="q", batch_id="4").writer(ROWS, overwrite=False)
        once.commit([once.write(batches(1))])
    assert ids(open_table(str(tmp_path / "plain"))) == [1, 1]
    assert ids(open_table(str(tmp_path / "once"))) == [1]


def test_rows_that_do_not_fit_are_refused_before_any_task_runs(tmp_path: Path) -> None:
    writer = stream_writer(tmp_path, query_id="q")
    writer.commit([writer.write(batches(1))], 0)
    wider = spark.StructType([*ROWS.fields, spark.StructField("extra", spark.StringType())])
    with pytest.raises(SchemaMismatch, match=r"has no column extra \(string\)"):
        source(tmp_path).streamWriter(wider, overwrite=False)
    source(tmp_path, mergeSchema="true").streamWriter(wider, overwrite=False)


def test_writers_and_their_messages_can_be_sent_to_executors(tmp_path: Path) -> None:
    writer = pickle.loads(pickle.dumps(stream_writer(tmp_path, query_id="q", compression="snappy")))
    message = pickle.loads(pickle.dumps(writer.write(batches(1))))
    writer.commit([message], 0)
    assert ids(open_table(str(tmp_path))) == [1]


def test_a_type_of_spark_that_no_table_has_is_refused_by_name() -> None:
    schema = spark.StructType(
        [
            spark.StructField("fine", spark.IntegerType()),
            spark.StructField("odd", spark.DayTimeIntervalType()),
            spark.StructField("void", spark.NullType()),
        ]
    )
    with pytest.raises(SchemaMismatch, match=r"tables cannot store columns? odd"):
        arrow_schema(schema)


def test_the_reader_gives_the_columns_that_are_asked_for(tmp_path: Path, table_format: str) -> None:
    writer = stream_writer(tmp_path, table_format=table_format, query_id="q")
    writer.commit([writer.write(batches(5))], 0)
    requested = source(tmp_path, columns="id")
    assert requested.schema() == spark.StructType([spark.StructField("id", spark.IntegerType())])
    reader = pickle.loads(pickle.dumps(requested.reader(requested.schema())))
    partitions = pickle.loads(pickle.dumps(reader.partitions()))
    assert [row for each in partitions for batch in reader.read(each) for row in batch.to_pylist()] == [
        {"id": 5}
    ]
    with pytest.raises(TableError, match="has no column nope: it has id"):
        source(tmp_path, columns="nope").schema()


def test_reading_where_there_is_no_table_says_so(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no table at"):
        source(tmp_path).schema()
    assert os.listdir(tmp_path) == []
