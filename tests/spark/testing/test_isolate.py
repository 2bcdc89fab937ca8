"""A pipeline moved into a test."""

from penstock.spark.pipeline.core.model import TableSource
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.yaml.file import read_yaml
from penstock.spark.testing.isolate import isolated, table_path

FILE = """
pipeline: p
bootstrap_servers: production:9092
kafka: {sasl.password: secret, isolation.level: read_uncommitted}
sources:
  a: {topic: a, starting: latest, options: {kafka.sasl.username: me, minPartitions: 3}}
  b: {table: /reference/b}
  c: {table: shop.c, catalog: {name: production, token: secret}, options: {push_filters: "true", aws_region: eu}}
outputs:
  near: {from: a, table: ../lake/near}
  far: {from: a, table: "/lake/far"}
  shop: {from: a, table: shop.orders, catalog: production, options: {aws_region: eu}, maintain: {every: 1 minute}}
  shown: {from: a, console: true}
"""


def test_it_reaches_nothing_but_the_broker_and_the_directory_of_the_test() -> None:
    moved = isolated(read_yaml(FILE, "/files/p.yaml", {}), "127.0.0.1:1", "/test")
    assert moved.client_options == {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.isolation.level": "read_uncommitted",
    }
    topic, table, in_catalog = moved.sources
    assert (topic.starting, topic.options) == ("earliest", {"minPartitions": "3"})  # type: ignore[union-attr]
    assert table.path == "/test/elsewhere/reference/b"  # type: ignore[union-attr]
    assert in_catalog == TableSource(
        line=in_catalog.line,
        name="c",
        path="/test/shop.c",
        format="iceberg",
        options={"push_filters": "true"},
    )
    shop = next(output.target for output in moved.outputs if output.name == "shop")
    assert shop == TableTarget(line=shop.line, path="/test/shop.orders", format="iceberg")
    assert [output.target.describe(None) for output in moved.outputs] == [
        "table /test/lake/near (delta)",
        "table /test/elsewhere/lake/far (delta)",
        "table /test/shop.orders (iceberg)",
        "topic console.shown, exactly-once",
    ]
    assert moved.checkpoints == "/test/checkpoints/p"


def test_no_path_leaves_the_directory() -> None:
    assert table_path("../../etc/x", "/test") == "/test/etc/x"
    assert table_path("/../x", "/test").startswith("/test/")
    assert table_path("s3://bucket/../../x", "/test").startswith("/test/")
