"""Avro decoding in a separate process with limits: ten bytes can decode to more than any memory holds.

An array of a billion nulls is valid, and value and schema are untrusted. The process is given a uint32 with the
size of the schema, the schema and the value, and answers with JSON:
`{"decoded": …}` or `{"refused": [status, code, message]}`.
"""

import resource
import struct
import sys
from typing import Any, Final

import msgspec

from penstock.console.avro import decode_avro
from penstock.console.child_process import run_module
from penstock.console.refusals import Refused, bad_request

_SIZE: Final = struct.Struct(">I")
_MEMORY_BYTES_MAX: Final = 256 * 1024 * 1024
_CPU_S_MAX: Final = 3
_WAIT_S_MAX: Final = 20.0
_ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024
_TOO_MUCH: Final = "The decoded Avro value is too large to show."


async def decode_in_process(data: bytes, schema_text: str) -> Any:
    """Decode as `decode_avro` does. Raises `Refused`."""
    schema = schema_text.encode()
    request = _SIZE.pack(len(schema)) + schema + data
    try:
        output, is_whole = await run_module("penstock.console.avro_process", request, _WAIT_S_MAX)
    except TimeoutError:
        raise bad_request(_TOO_MUCH) from None
    if not is_whole:
        raise bad_request(_TOO_MUCH)
    response = msgspec.json.decode(output)
    if "refused" in response:
        raise Refused(*response["refused"])
    return response["decoded"]


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES_MAX, _MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S_MAX, _CPU_S_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    received = sys.stdin.buffer.read()
    (size,) = _SIZE.unpack_from(received)
    schema, data = received[_SIZE.size : _SIZE.size + size].decode(), received[_SIZE.size + size :]
    try:
        output = msgspec.json.encode({"decoded": decode_avro(data, schema)})
        if len(output) > _ANSWER_BYTES_MAX:
            raise bad_request(_TOO_MUCH)
    except Refused as error:
        output = msgspec.json.encode({"refused": [error.status, error.code, error.message]})
    sys.stdout.buffer.write(output)


if __name__ == "__main__":
    _main()
