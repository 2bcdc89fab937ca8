"""Iceberg tables in a REST catalog, which vends the store's credentials, and in Glue."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.transforms import BucketTransform

from penstock.spark.lake.errors import StorageError, TableError
from penstock.spark.lake.formats import existing_table, open_table
from penstock.spark.lake.location import location_of
from penstock.spark.lake.table import Table
from tests.spark.lake.support import SCHEMA, commit_at_once, ids, put, rows_of, schema_of
from tests.support.object_store import ObjectStore
from tests.support.rest_catalog import RestCatalogServer

pytestmark = pytest.mark.xdist_group("object store")


def iceberg_properties(store: ObjectStore) -> dict[str, str]:
    return {
        "s3.endpoint": store.url,
        "s3.access-key-id": store.options["aws_access_key_id"],
        "s3.secret-access-key": store.options["aws_secret_access_key"],
        "s3.region": "us-east-1",
    }


@pytest.fixture
def rest(object_store: ObjectStore, bucket: str, tmp_path: Path) -> Iterator[RestCatalogServer]:
    server = RestCatalogServer(
        str(tmp_path / "catalog.db"), f"s3://{bucket}/warehouse", iceberg_properties(object_store)
    )
    yield server
    server.close()


@pytest.fixture(params=["rest", "glue"])
def table(request: pytest.FixtureRequest, object_store: ObjectStore, bucket: str) -> Table:
    if request.param == "rest":
        server: RestCatalogServer = request.getfixturevalue("rest")
        return open_table(location_of("shop.orders", None, server.properties))
    glue = {
        "type": "glue",
        "warehouse": f"s3://{bucket}/warehouse",
        "glue.endpoint": object_store.url,
        "glue.region": "us-east-1",
        "glue.access-key-id": "test",
        "glue.secret-access-key": "test",
    }
    return open_table(location_of(f"{bucket.replace('-', '_')}.orders", object_store.options, glue))


def test_batches_are_in_a_table_of_a_catalog_once_and_maintenance_keeps_their_rows(table: Table) -> None:
    assert table.state() is None
    for at in range(2):
        assert put(table, rows_of(at), batch=("q", at), partition_by=("place",))
    assert not put(table, rows_of(1), batch=("q", 1))
    integer = SCHEMA.field("id").type
    wider = schema_of(id=integer, place=SCHEMA.field("place").type, more=integer)
    assert put(table, [{"id": 2, "place": "x", "more": 1}], wider, batch=("q", 2), merge_schema=True)
    assert ids(table) == [0, 1, 2]
    table.verify()
    assert table.compact(1 << 20).files_before == 2
    table.vacuum(0, is_dry_run=False)
    assert ids(table) == [0, 1, 2]
    assert not put(table, rows_of(1), batch=("q", 1))


def test_a_table_that_others_made_is_written_without_changing_its_properties(rest: RestCatalogServer) -> None:
    rest.catalog.create_namespace("shop")
    theirs = rest.catalog.create_table("shop.orders", SCHEMA)
    table = existing_table(location_of("shop.orders", None, rest.properties))
    put(table, rows_of(0), batch=("q", 0))
    assert commit_at_once(table, drivers=3) == 1
    assert ids(table) == [0, 1]
    assert "commit.retry.num-retries" not in theirs.refresh().properties


def test_partitions_that_are_computed_are_refused_before_anything_is_written(rest: RestCatalogServer) -> None:
    rest.catalog.create_namespace("shop")
    theirs = rest.catalog.create_table("shop.orders", SCHEMA)
    with theirs.update_spec() as spec:
        spec.add_field("id", BucketTransform(4))
    table = existing_table(location_of("shop.orders", None, rest.properties))
    with pytest.raises(TableError, match=r"partitioned by computed values, id_bucket_4 \(bucket\[4\]\)"):
        put(table, rows_of(1))


def test_a_catalog_is_found_by_its_name_in_pyiceberg_s_configuration(
    rest: RestCatalogServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg import catalog
    from pyiceberg.utils.config import Config

    for key, value in rest.properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKEHOUSE__{key.upper()}", value)
    monkeypatch.setattr(catalog, "_ENV_CONFIG", Config())  # pyiceberg reads it when it is imported
    put(open_table(location_of("shop.orders", None, {"name": "lakehouse"})), rows_of(7))
    assert load_catalog("lakehouse").load_table("shop.orders").scan().to_arrow()["id"].to_pylist() == [7]


def test_a_wrong_token_a_missing_server_and_an_unknown_catalog_are_named(rest: RestCatalogServer) -> None:
    def refusal(**properties: str) -> str:
        with pytest.raises(TableError) as refused:
            open_table(location_of("shop.orders", None, properties)).verify()
        return str(refused.value)

    assert "the credentials were refused" in refusal(**{**rest.properties, "token": "wrong"})
    assert "the endpoint cannot be reached" in refusal(**{**rest.properties, "uri": "http://127.0.0.1:1"})
    unknown = refusal(name="nowhere")
    assert unknown.startswith("the catalog nowhere cannot be used")
    assert ".pyiceberg.yaml" in unknown


def test_a_table_that_is_not_in_the_catalog_is_named(rest: RestCatalogServer) -> None:
    with pytest.raises(TableError, match=r"there is no table shop\.missing in the catalog"):
        existing_table(location_of("shop.missing", None, rest.properties))


def test_secrets_of_a_catalog_are_in_no_error(rest: RestCatalogServer) -> None:
    with pytest.raises(StorageError) as refused:
        open_table(location_of("shop.orders", None, {**rest.properties, "token": "my-secret"})).verify()
    assert "my-secret" not in str(refused.value)
