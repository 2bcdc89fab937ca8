"""The records of one kind of group in `__consumer_offsets`, with the record type in the key.

key    i16 record type, then the key's message, version 0
value  i16 version, then the value's message; null deletes the key
"""

import struct
from collections.abc import Iterable
from typing import Any, Final, Protocol, cast

from penstock.protocol.records.builder import NewRecord

GroupRecord = tuple[Any, Any]
"""The key message, and the value message or None for a tombstone."""

_VERSION: Final = struct.Struct(">h")
_VALUE_VERSION: Final = 0


class _RecordModule(Protocol):
    """A generated module of a record type."""

    __name__: str
    RECORD_TYPE: int

    def encode_key(self, message: Any, version: int) -> bytes: ...
    def encode_value(self, message: Any, version: int) -> bytes: ...
    def decode_key(self, buf: bytes, version: int, pos: int = 0) -> Any: ...
    def decode_value(self, buf: bytes, version: int, pos: int = 0) -> Any: ...


class RecordCodec:
    """Encodes and decodes the record types of the given generated modules."""

    def __init__(self, modules: Iterable[object]) -> None:
        by_type = {each.RECORD_TYPE: each for each in (cast("_RecordModule", each) for each in modules)}
        self._by_type = by_type
        self._by_module = {each.__name__: each for each in by_type.values()}

    def encode(self, record: GroupRecord, now_ms: int) -> NewRecord:
        key, value = record
        module = self._by_module[type(key).__module__]
        encoded = None
        if value is not None:
            encoded = _VERSION.pack(_VALUE_VERSION) + module.encode_value(value, _VALUE_VERSION)
        return NewRecord(_VERSION.pack(module.RECORD_TYPE) + module.encode_key(key, 0), encoded, (), now_ms)

    def decode(self, key: bytes, value: bytes | None) -> GroupRecord | None:
        """Return None for a record of another kind of group. Raises `ProtocolError` when it is malformed."""
        module = self._by_type.get(int.from_bytes(key[: _VERSION.size], "big", signed=True))
        if module is None:
            return None
        decoded = None
        if value is not None:
            version = int.from_bytes(value[: _VERSION.size], "big", signed=True)
            decoded = module.decode_value(value, version, _VERSION.size)
        return module.decode_key(key, 0, _VERSION.size), decoded
