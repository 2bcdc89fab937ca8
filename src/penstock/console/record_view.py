"""A record in the pages' JSON. Bytes are Base64: the page decides how to show them. Pure."""

import base64
from typing import Any, Final

from penstock.protocol.records.record import Record

PREVIEW_BYTES_MAX: Final = 2 * 1024
WHOLE_BYTES_MAX: Final = 1024 * 1024

_AVRO_CONTAINER_MAGIC: Final = b"Obj\x01"
_FRAME_BYTES: Final = 5


def record_view(partition: int, record: Record, bytes_max: int = PREVIEW_BYTES_MAX) -> dict[str, Any]:
    return {
        "partition": partition,
        "offset": record.offset,
        "timestampMs": record.timestamp,
        "key": part_view(record.key, bytes_max),
        "value": part_view(record.value, bytes_max),
        "headers": [{"name": name, "value": part_view(value, bytes_max)} for name, value in record.headers],
    }


def part_view(data: bytes | None, bytes_max: int) -> dict[str, Any] | None:
    if data is None:
        return None
    return {"data": base64.b64encode(data[:bytes_max]).decode(), "size": len(data), "avro": avro_hint(data)}


def avro_hint(data: bytes) -> dict[str, Any] | None:
    """Whether it may be Avro: an object container, or Confluent's framing (byte 0, then the schema's id)."""
    if data.startswith(_AVRO_CONTAINER_MAGIC):
        return {"kind": "container"}
    if len(data) > _FRAME_BYTES and data[0] == 0:
        return {"kind": "framed", "schemaId": int.from_bytes(data[1:_FRAME_BYTES], "big")}
    return None
