"""The messages that every client must transfer unchanged."""

import random

from tests.interop.model import Message

MEBIBYTE = 1024 * 1024

ALL_BYTES = bytes(range(256))
FIRST_TIMESTAMP_MS = 1_700_000_000_000


def messages(seed: int) -> list[Message]:
    """Keys, headers, empty and null values, every byte, and 1 MiB both compressible and not."""
    noise = random.Random(seed).randbytes(MEBIBYTE)
    plain = [
        Message(b"key", b"value"),
        Message(None, b"no key"),
        Message(b"", b"empty key"),
        Message(b"empty value", b""),
        Message(b"tombstone", None),
        Message(None, None),
        Message(ALL_BYTES, ALL_BYTES),
        Message("schlüssel-鍵".encode(), "wert-値-🔑".encode()),
        Message(b"headers", b"h", (("trace", b"abc-123"), ("empty", b""), ("kind", b"order"))),
        Message(b"odd headers", b"h", (("null", None), ("bytes", ALL_BYTES), ("ключ", "значение".encode()))),
        Message(b"repeated header", b"h", (("hop", b"1"), ("hop", b"2"))),
        Message(b"big noise", noise),
        Message(b"big text", b"all work and no play makes " * (MEBIBYTE // 27)),
        Message(b"last", b"end"),
    ]
    return [
        Message(m.key, m.value, m.headers, FIRST_TIMESTAMP_MS + 1000 * index) for index, m in enumerate(plain)
    ]
