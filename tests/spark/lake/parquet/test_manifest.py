import msgspec
import pyarrow as pa

from penstock.spark.lake.files import DataFile
from penstock.spark.lake.parquet.manifest import (
    Manifest,
    decode_manifest,
    decode_table,
    encode_table,
)
from tests.spark.lake.support import schema_of

FILE = DataFile(path="p=1/a.parquet", size_bytes=9, rows=2, partition={"p": "1"}, statistics="{}")


def test_a_manifest_is_read_as_it_was_written() -> None:
    manifest = Manifest(
        attempt="x", operation="append", timestamp_ms=5, query_id="q", batch_id=3, added=[FILE], removed=["b"]
    )
    assert decode_manifest(msgspec.json.encode(manifest)) == manifest


def test_each_batch_of_a_query_has_one_name_and_other_writes_have_one_each() -> None:
    batch = Manifest(attempt="x", operation="append", timestamp_ms=5, query_id="a/b", batch_id=3, added=[])
    assert batch.path == "_penstock/commits/a%2Fb/3.json"
    assert batch.pending_path == "_penstock/pending/x.json"
    write = Manifest(attempt="x", operation="append", timestamp_ms=5, added=[])
    assert write.path == "_penstock/commits/x/0.json"


def test_a_table_file_keeps_the_schema_exactly() -> None:
    schema = schema_of(
        at=pa.timestamp("us", "UTC"), tags=pa.list_(pa.field("element", pa.string())), n=pa.decimal128(20, 4)
    )
    assert decode_table(encode_table(schema, ("n",))) == (schema, ("n",))
