"""Avro with a registry, and Protobuf, as columns; without Spark."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from penstock.sql.decoding import decoding_of
from penstock.sql.errors import SqlError
from penstock.sql.schema import parse_schema

SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}


class Registry(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"schema": json.dumps(SCHEMA)}).encode()
        self.send_response(200 if self.path == "/schemas/ids/7" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_framed_avro_has_the_columns_of_the_newest_schema_in_the_sample(registry: str) -> None:
    values = [b"\x00\x00\x00\x00\x07\x02a", b"\x00\x00\x00\x00\x09\x02a", b"", None]
    decoding = decoding_of(parse_schema("avro"), [values[0] or b""], registry_url=registry)
    found = decoding.decode(pa.array(values, pa.binary()), ["id", "_error"])
    assert found["id"].to_pylist() == ["a", None, None, None]
    assert found["_error"].to_pylist() == [None, "unknown schema id 9", "empty value", None]


def test_a_registry_is_needed_and_has_to_know_the_schema(registry: str) -> None:
    with pytest.raises(SqlError, match="Avro needs --registry URL"):
        decoding_of(parse_schema("avro"), [], registry_url=None)
    with pytest.raises(SqlError, match="do not name a schema of the registry"):
        decoding_of(parse_schema("avro"), [b"\x00\x00\x00\x00\x09"], registry_url=registry)


def test_protobuf_has_the_columns_of_its_message(tmp_path: Path) -> None:
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.append(Field(name="id", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL))
    path = tmp_path / "shop.desc"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    decoding = decoding_of(parse_schema(f"protobuf({path}, shop.Order, bare)"), [], registry_url=None)
    found = decoding.decode(pa.array([b"\x0a\x01a", b"\xff"], pa.binary()), ["id", "_error"])
    assert found["id"].to_pylist() == ["a", None]
    assert "truncated or damaged" in found["_error"].to_pylist()[1]
    with pytest.raises(SqlError, match="write protobuf"):
        decoding_of(parse_schema("protobuf(x)"), [], registry_url=None)


def test_pyspark_is_not_needed() -> None:
    code = "import sys; sys.modules['pyspark'] = None; import penstock.sql, penstock.sql.decoding"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
