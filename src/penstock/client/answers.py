"""Decoding of what a broker answers, with the one answer that comes in another form than it was asked for."""

import struct
from typing import Any, Final

from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode
from penstock.protocol.wire import Buffer

_ERROR_CODE: Final = struct.Struct(">h")


def decode_answer(frame: Buffer, api_key: int, version: int, position: int) -> Any:
    """The response whose body begins at `position`.

    An ApiVersions request of a version that the broker does not know is answered in the form of version 0 (KIP-511).
    """
    if (
        api_key == apis.API_VERSIONS_KEY
        and len(frame) >= position + 2
        and _ERROR_CODE.unpack_from(frame, position)[0] == ErrorCode.UNSUPPORTED_VERSION
    ):
        version = 0
    return apis.codec(api_key).decode_response(frame, version, position)
