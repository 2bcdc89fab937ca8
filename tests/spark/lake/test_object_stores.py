"""Tables in an object store, through a real S3 API: what `test_table` promises of directories holds there, too."""

from pathlib import Path

import pytest

from penstock.cli.main import run
from penstock.spark.lake.errors import StorageError, TableError
from penstock.spark.lake.formats import existing_table, format_at, open_table
from penstock.spark.lake.location import Location, location_of
from penstock.spark.lake.table import Table
from tests.spark.lake.merge.support import change_of, tuples, upsert
from tests.spark.lake.support import commit_at_once, ids, put, read, rows_of
from tests.support.object_store import ObjectStore

pytestmark = pytest.mark.xdist_group("object store")


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, object_store: ObjectStore, bucket: str, tmp_path: Path) -> Table:
    if request.param == "delta":
        return open_table(location_of(f"s3://{bucket}/lake/orders", object_store.options), "delta")
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"s3://{bucket}/lake"}
    return open_table(location_of("shop.orders", object_store.options, catalog))


def test_batches_are_in_the_table_once_and_maintenance_keeps_their_rows(table: Table) -> None:
    for at in range(3):
        assert put(table, rows_of(at), batch=("q", at), partition_by=("place",))
    assert not put(table, rows_of(2), batch=("q", 2))
    assert ids(table) == [0, 1, 2]
    assert (table.compact(1 << 20).files_before, table.size().files) == (3, 1)
    assert len(table.vacuum(0, is_dry_run=False)) >= 4  # three that were merged, one of the replay
    assert ids(table) == [0, 1, 2]
    assert not put(table, rows_of(2), batch=("q", 2))
    assert put(table, rows_of(3), batch=("q", 3))
    assert [(each.query_id, each.batch_id) for each in table.history(1)] == [("q", 3)]


def test_changes_are_merged_once_and_deleted_keys_stay_deleted(table: Table) -> None:
    assert upsert(table, [change_of(key, 1) for key in range(5)], batch=0)
    assert upsert(table, [change_of(1, 5, "b"), change_of(2, 5, is_deleted=True)], batch=1)
    assert not upsert(table, [change_of(3, 9)], batch=1)
    table.vacuum(0, is_dry_run=False)
    assert upsert(table, [change_of(1, 4), change_of(2, 4)], batch=2)
    assert tuples(read(table)) == [(0, 1, "a"), (1, 5, "b"), (3, 1, "a"), (4, 1, "a")]


def test_of_drivers_that_commit_one_batch_at_once_one_commits_it(table: Table) -> None:
    put(table, rows_of(0), batch=("q", 0))
    assert commit_at_once(table, drivers=3) == 1
    assert ids(table) == [0, 1]


def test_a_table_is_found_at_its_url_alone(object_store: ObjectStore, bucket: str) -> None:
    where = location_of(f"s3a://{bucket}/orders/", object_store.options)
    assert where.path == f"s3://{bucket}/orders"
    assert format_at(where) is None
    with pytest.raises(TableError, match=f"there is no table at s3://{bucket}/orders"):
        existing_table(where)
    put(open_table(where), rows_of(1))
    assert ids(existing_table(where)) == [1]


@pytest.mark.parametrize(
    ("table_format", "reason"),
    [("parquet", "plain Parquet tables cannot be in an object store"), ("iceberg", "needs a catalog")],
)
def test_formats_that_need_a_filesystem_are_refused(
    table_format: str, reason: str, object_store: ObjectStore, bucket: str
) -> None:
    with pytest.raises(TableError, match=reason):
        open_table(location_of(f"s3://{bucket}/t", object_store.options), table_format)


def refusal(where: Location) -> str:
    with pytest.raises(StorageError) as refused:
        open_table(where).verify()
    return str(refused.value)


def test_a_bucket_that_does_not_exist_and_an_endpoint_that_is_not_there_are_named(
    object_store: ObjectStore, bucket: str
) -> None:
    assert refusal(location_of("s3://no-such-bucket/t", object_store.options)) == (
        "s3://no-such-bucket/t: the bucket does not exist: create it, or correct the URL (NoSuchBucket)"
    )
    elsewhere = {**object_store.options, "aws_endpoint_url": "http://127.0.0.1:1"}
    assert "the endpoint cannot be reached" in refusal(location_of(f"s3://{bucket}/t", elsewhere))


def test_wrong_credentials_and_missing_rights_are_named_and_nothing_is_written(
    object_store: ObjectStore, bucket: str
) -> None:
    iam = object_store.client("iam")
    iam.create_user(UserName="reader")
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    reader = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    object_store.check_credentials(True)
    try:
        stranger = refusal(location_of(f"s3://{bucket}/t", object_store.options))
        unable = refusal(location_of(f"s3://{bucket}/t", {**object_store.options, **reader}))
    finally:
        object_store.check_credentials(False)
    assert stranger.startswith(f"s3://{bucket}/t: the credentials were refused")
    assert unable.startswith(f"s3://{bucket}/t: permission was denied")
    assert object_store.keys(bucket) == []


def test_an_option_that_no_store_knows_is_named(object_store: ObjectStore, bucket: str) -> None:
    where = location_of(f"s3://{bucket}/t", {**object_store.options, "aws_regoin": "x"})
    with pytest.raises(TableError, match=r"'regoin' is not valid .*correct its name"):
        open_table(where)


def test_verifying_leaves_nothing_in_the_bucket(table: Table, object_store: ObjectStore, bucket: str) -> None:
    table.verify()
    assert object_store.keys(bucket) == []


def test_the_commands_take_urls_and_names_in_catalogs(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    for at in range(2):
        put(table, rows_of(at), batch=("q", at))
    options = [f"--option={name}={value}" for name, value in table.location.options.items()]
    for name, value in (table.location.catalog or {}).items():
        options.append(f"--catalog-option={name}={value}")
    assert run(["table", "compact", table.path, *options]) == 0
    assert run(["table", "vacuum", table.path, *options, "--older-than=0s", "--remove"]) == 0
    capsys.readouterr()
    assert run(["table", "show", table.path, *options]) == 0
    assert f"table {table.path}: 2 row(s) in 1 file(s)" in capsys.readouterr().out
    assert run(["table", "show", "s3://nowhere/t", *options[: len(table.location.options)]]) == 1
    assert capsys.readouterr().err == (
        "penstock: s3://nowhere/t: the bucket does not exist: create it, or correct the URL (NoSuchBucket)\n"
    )
