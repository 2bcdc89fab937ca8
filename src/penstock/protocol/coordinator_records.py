"""The records of the coordinators' topics, in Kafka's format, with the record type in the key.

key    i16 record type, then the key's message, version 0
value  i16 version, then the value's message; null deletes the key
"""

import struct
from collections.abc import Iterable
from typing import Any, Final

from penstock.protocol.records.builder import NewRecord

TypedRecord = tuple[Any, Any]
"""The key message, and the value message or None for a tombstone."""

_NUMBER: Final = struct.Struct(">h")


def number_at_start(encoded: bytes) -> int:
    """Return the record type of a key, or the version of a value."""
    return int.from_bytes(encoded[: _NUMBER.size], "big", signed=True)


class RecordCodec:
    """Encodes and decodes the record types of the given generated modules; `legacy` has types that are only read."""

    def __init__(self, modules: Iterable[Any], legacy: dict[int, Any] | None = None) -> None:
        self._by_module = {each.__name__: each for each in modules}
        self._by_type = {each.RECORD_TYPE: each for each in self._by_module.values()} | (legacy or {})

    def encode(self, record: TypedRecord, now_ms: int, value_version: int = 0) -> NewRecord:
        key, value = record
        module = self._by_module[type(key).__module__]
        encoded = None
        if value is not None:
            encoded = _NUMBER.pack(value_version) + module.encode_value(value, value_version)
        return NewRecord(_NUMBER.pack(module.RECORD_TYPE) + module.encode_key(key, 0), encoded, (), now_ms)

    def decode(self, key: bytes, value: bytes | None) -> TypedRecord | None:
        """Return None for a record of an unknown type. Raises `ProtocolError` when it is malformed."""
        module = self._by_type.get(number_at_start(key))
        if module is None:
            return None
        decoded = None
        if value is not None:
            decoded = module.decode_value(value, number_at_start(value), _NUMBER.size)
        return module.decode_key(key, 0, _NUMBER.size), decoded
