import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.spark.lake import files
from penstock.spark.lake.files import FileLayout, TableFiles, write_files
from penstock.spark.lake.location import Location
from tests.spark.lake.support import schema_of

SCHEMA = schema_of(id=pa.int64(), place=pa.string())


def batch(*ids: int, place: str = "here") -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": each, "place": place} for each in ids], schema=SCHEMA)


def on_disk(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_rows_of_many_batches_make_one_file(tmp_path: Path) -> None:
    written = write_files(
        FileLayout(location=Location(path=str(tmp_path)), schema=SCHEMA), iter([batch(1, 2), batch(3)])
    )
    assert [file.rows for file in written] == [3]
    assert on_disk(tmp_path) == [written[0].path]
    assert written[0].size_bytes == (tmp_path / written[0].path).stat().st_size
    assert pq.read_table(tmp_path / written[0].path).column("id").to_pylist() == [1, 2, 3]
    assert pq.read_metadata(tmp_path / written[0].path).num_row_groups == 1


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    assert write_files(FileLayout(location=Location(path=str(tmp_path)), schema=SCHEMA), iter([])) == []
    assert on_disk(tmp_path) == []


def test_a_partition_has_its_directory_and_its_column_is_not_in_the_file(tmp_path: Path) -> None:
    layout = FileLayout(location=Location(path=str(tmp_path)), schema=SCHEMA, partition_by=("place",))
    written = write_files(layout, iter([batch(1, place="a/b")]))
    assert written[0].partition == {"place": "a/b"}
    assert written[0].path.startswith("place=a%2Fb/part-")
    assert pq.read_schema(tmp_path / written[0].path).names == ["id"]


def test_a_format_that_wants_them_keeps_partition_columns(tmp_path: Path) -> None:
    layout = FileLayout(
        location=Location(path=str(tmp_path)),
        schema=SCHEMA,
        partition_by=("place",),
        keeps_partition_columns=True,
        directory="data/",
    )
    written = write_files(layout, iter([batch(1)]))
    assert pq.read_schema(tmp_path / written[0].path).names == ["id", "place"]
    assert written[0].path.startswith("data/place=here/")


def test_staged_files_lie_apart_and_are_not_taken_for_parquet(tmp_path: Path) -> None:
    layout = FileLayout(
        location=Location(path=str(tmp_path)), schema=SCHEMA, partition_by=("place",), staging="_x/staging"
    )
    written = write_files(layout, iter([batch(1)]))
    name = os.path.basename(written[0].path)
    assert on_disk(tmp_path) == [f"_x/staging/{name}.staged"]


def test_a_file_that_is_large_enough_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ROW_GROUP_BYTES", 1)
    layout = FileLayout(location=Location(path=str(tmp_path)), schema=SCHEMA, file_size_bytes=1)
    assert [file.rows for file in write_files(layout, iter([batch(1), batch(2, 3)]))] == [1, 2]


def test_of_many_partitions_only_some_have_a_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "OPEN_FILES_MAX", 2)
    layout = FileLayout(location=Location(path=str(tmp_path)), schema=SCHEMA, partition_by=("place",))
    batches = [batch(at, place=str(at % 4)) for at in range(8)]
    written = write_files(layout, iter(batches))
    assert sum(file.rows for file in written) == 8
    assert len(written) == 8  # each partition's file was closed before its next rows came
    assert len({file.path for file in written}) == 8


def test_rows_that_wait_are_bounded_over_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUFFER_BYTES_MAX", 20)
    task = TableFiles(
        FileLayout(location=Location(path=str(tmp_path)), schema=SCHEMA, partition_by=("place",))
    )
    for at in range(6):
        task.write(batch(at, place=str(at % 2)))
    written = task.close()
    assert sorted(file.rows for file in written) == [3, 3]
    assert all(pq.read_metadata(tmp_path / file.path).num_row_groups > 1 for file in written)


def test_a_task_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield batch(1, place="a")
        yield batch(2, place="b")
        raise ValueError("no more")

    layout = FileLayout(location=Location(path=str(tmp_path)), schema=SCHEMA, partition_by=("place",))
    with pytest.raises(ValueError, match="no more"):
        write_files(layout, rows())
    assert on_disk(tmp_path) == []
