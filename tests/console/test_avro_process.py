import asyncio
import json
import zlib

import pytest

from penstock.console.avro_process import decode_in_process
from penstock.console.refusals import Refused

_NULLS = json.dumps({"type": "array", "items": "null"})


def varint(number: int) -> bytes:
    """A long as Avro has it, for numbers that are not negative."""
    number *= 2
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def counted(data: bytes) -> bytes:
    return varint(len(data)) + data


def container_of_zeros(size: int) -> bytes:
    """One deflated string of `count` zeros."""
    deflating = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = deflating.compress(varint(size) + bytes(size)) + deflating.flush()
    pairs = counted(b"avro.schema") + counted(b'"string"') + counted(b"avro.codec") + counted(b"deflate")
    return b"Obj\x01" + varint(2) + pairs + b"\0" + bytes(16) + varint(1) + counted(block) + bytes(16)


def test_a_value_is_decoded() -> None:
    assert asyncio.run(decode_in_process(varint(3) + b"\0", _NULLS)) == [None, None, None]


def test_a_refusal_has_the_same_message_as_in_process() -> None:
    with pytest.raises(Refused, match="This is not an Avro schema"):
        asyncio.run(decode_in_process(b"\0", "7"))


@pytest.mark.parametrize(
    "bomb", [varint(2**40) + b"\0", container_of_zeros(9_000_000)], ids=["an array of nulls", "a container"]
)
def test_a_few_bytes_that_expand_to_gigabytes_are_refused(bomb: bytes) -> None:
    with pytest.raises(Refused, match=r"too large|MemoryError"):
        asyncio.run(decode_in_process(bomb, _NULLS))
