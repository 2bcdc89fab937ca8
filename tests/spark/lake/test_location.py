import pickle

import pytest

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.location import location_of
from penstock.spark.lake.options import parse_options

SECRET = {"aws_secret_access_key": "hush"}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/data/orders", "/data/orders"),
        ("file:///data/orders", "/data/orders"),
        ("s3://lake/orders/", "s3://lake/orders"),
        ("s3a://lake/orders", "s3://lake/orders"),
        ("gs://lake/a/b", "gs://lake/a/b"),
        ("abfss://c@account.dfs.core.windows.net/t", "abfss://c@account.dfs.core.windows.net/t"),
    ],
)
def test_one_place_has_one_spelling(given: str, path: str) -> None:
    assert location_of(given).path == path


def test_a_location_shows_no_options() -> None:
    where = location_of("s3://lake/orders", SECRET)
    assert "hush" not in f"{where} {where!r}"
    assert pickle.loads(pickle.dumps(where)) == where


def test_options_without_a_value_are_not_set() -> None:
    assert location_of("s3://lake/orders", {"aws_region": ""}).options == {}


@pytest.mark.parametrize(
    ("given", "options", "catalog"),
    [
        ("s3://lake/orders", SECRET, None),
        ("shop.orders", {}, {"name": "lakehouse"}),
        ("shop.orders", SECRET, {"type": "rest", "uri": "http://c"}),
    ],
)
def test_a_location_travels_as_options_of_spark(
    given: str, options: dict[str, str], catalog: dict[str, str] | None
) -> None:
    where = location_of(given, options, catalog)
    assert parse_options(where.spark_options()).location == where


def test_a_name_in_a_catalog_has_a_namespace() -> None:
    for wrong in ("orders", ".orders", "shop.", "s3://a/b.c"):
        with pytest.raises(TableError, match=r"write NAMESPACE\.TABLE"):
            location_of(wrong, {}, {"name": "lakehouse"})
