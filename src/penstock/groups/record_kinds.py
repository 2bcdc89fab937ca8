"""The records of one kind of group in `__consumer_offsets`, told apart by the type that their key begins with.

key    i16 record type, then the key's message, version 0
value  i16 version, then the value's message; null forgets the key
"""

import struct
from collections.abc import Mapping
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from penstock.protocol.records.builder import NewRecord

K = TypeVar("K")
V = TypeVar("V")

_VERSION: Final = struct.Struct(">h")
_VALUE_VERSION: Final = 0


class _Codec(Protocol):
    RECORD_TYPE: int

    def encode_key(self, message: Any, version: int) -> bytes: ...
    def encode_value(self, message: Any, version: int) -> bytes: ...
    def decode_key(self, buf: bytes, version: int, pos: int = 0) -> Any: ...
    def decode_value(self, buf: bytes, version: int, pos: int = 0) -> Any: ...


class RecordKinds(Generic[K, V]):
    """Made from the generated module of each kind, by the class of its key."""

    def __init__(self, modules: Mapping[type, object]) -> None:
        self._by_key = {key: cast("_Codec", module) for key, module in modules.items()}
        self._by_type = {codec.RECORD_TYPE: codec for codec in self._by_key.values()}

    def encode(self, change: tuple[K, V | None], now_ms: int) -> NewRecord:
        key, value = change
        codec = self._by_key[type(key)]
        encoded = None
        if value is not None:
            encoded = _VERSION.pack(_VALUE_VERSION) + codec.encode_value(value, _VALUE_VERSION)
        return NewRecord(_VERSION.pack(codec.RECORD_TYPE) + codec.encode_key(key, 0), encoded, (), now_ms)

    def decode(self, key: bytes, value: bytes | None) -> tuple[K, V | None] | None:
        """The change a record makes, None when it is of another kind. Raises `ProtocolError` when it is malformed."""
        codec = self._by_type.get(int.from_bytes(key[: _VERSION.size], "big", signed=True))
        if codec is None:
            return None
        decoded = None
        if value is not None:
            version = int.from_bytes(value[: _VERSION.size], "big", signed=True)
            decoded = codec.decode_value(value, version, _VERSION.size)
        return codec.decode_key(key, 0, _VERSION.size), decoded
