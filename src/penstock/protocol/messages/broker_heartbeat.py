"""BrokerHeartbeatRequest and BrokerHeartbeatResponse.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Budget,
    Buffer,
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_tag,
    read_uuids,
    read_uvarint,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_tagged_fields,
    write_uuids,
    wrong_tag_size,
)

API_KEY: Final = 63
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_ihooo: Final = struct.Struct(">ih???")
_PACKED_iqqoo: Final = struct.Struct(">iqq??")


class BrokerHeartbeatRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = -1
    current_metadata_offset: int = 0
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None


class BrokerHeartbeatResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


def _read_broker_heartbeat_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerHeartbeatRequest, int]:
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down = _PACKED_iqqoo.unpack_from(buf, pos)
    pos += 22
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        current_metadata_offset=current_metadata_offset,
        want_fence=want_fence,
        want_shut_down=want_shut_down,
    )
    return value, pos


def _write_broker_heartbeat_request_v0(out: bytearray, message: BrokerHeartbeatRequest) -> None:
    if message.offline_log_dirs != []:
        raise unsupported_field("BrokerHeartbeatRequest.offline_log_dirs", 0, 0)
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("BrokerHeartbeatRequest.cordoned_log_dirs", 0, 0)
    out += _PACKED_iqqoo.pack(message.broker_id, message.broker_epoch, message.current_metadata_offset, message.want_fence, message.want_shut_down)
    out.append(0)


def _read_broker_heartbeat_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerHeartbeatRequest, int]:
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down = _PACKED_iqqoo.unpack_from(buf, pos)
    pos += 22
    offline_log_dirs: list[bytes] = []
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 16)
                budget.take(count)
                offline_log_dirs, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BrokerHeartbeatRequest", tag)
    value = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        current_metadata_offset=current_metadata_offset,
        want_fence=want_fence,
        want_shut_down=want_shut_down,
        offline_log_dirs=offline_log_dirs,
    )
    return value, pos


def _write_broker_heartbeat_request_v1(out: bytearray, message: BrokerHeartbeatRequest) -> None:
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("BrokerHeartbeatRequest.cordoned_log_dirs", 1, 1)
    out += _PACKED_iqqoo.pack(message.broker_id, message.broker_epoch, message.current_metadata_offset, message.want_fence, message.want_shut_down)
    tagged: list[tuple[int, bytearray]] = []
    if message.offline_log_dirs != []:
        value = bytearray()
        offline_log_dirs = message.offline_log_dirs
        write_compact_array_length(value, len(offline_log_dirs))
        write_uuids(value, offline_log_dirs)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_broker_heartbeat_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerHeartbeatRequest, int]:
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down = _PACKED_iqqoo.unpack_from(buf, pos)
    pos += 22
    offline_log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 16)
                budget.take(count)
                offline_log_dirs, pos = read_uuids(buf, pos, count)
            elif tag == 1:
                count, pos = read_compact_nullable_array_length(buf, pos, 16)
                budget.take(count)
                cordoned_log_dirs = None
                if count >= 0:
                    cordoned_log_dirs, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BrokerHeartbeatRequest", tag)
    value = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        current_metadata_offset=current_metadata_offset,
        want_fence=want_fence,
        want_shut_down=want_shut_down,
        offline_log_dirs=offline_log_dirs,
        cordoned_log_dirs=cordoned_log_dirs,
    )
    return value, pos


def _write_broker_heartbeat_request_v2(out: bytearray, message: BrokerHeartbeatRequest) -> None:
    out += _PACKED_iqqoo.pack(message.broker_id, message.broker_epoch, message.current_metadata_offset, message.want_fence, message.want_shut_down)
    tagged: list[tuple[int, bytearray]] = []
    if message.offline_log_dirs != []:
        value = bytearray()
        offline_log_dirs = message.offline_log_dirs
        write_compact_array_length(value, len(offline_log_dirs))
        write_uuids(value, offline_log_dirs)
        tagged.append((0, value))
    if message.cordoned_log_dirs is not None:
        value = bytearray()
        cordoned_log_dirs = message.cordoned_log_dirs
        write_compact_array_length(value, len(cordoned_log_dirs))
        write_uuids(value, cordoned_log_dirs)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[BrokerHeartbeatRequest, int]], ...]] = (
    _read_broker_heartbeat_request_v0,
    _read_broker_heartbeat_request_v1,
    _read_broker_heartbeat_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, BrokerHeartbeatRequest], None], ...]] = (
    _write_broker_heartbeat_request_v0,
    _write_broker_heartbeat_request_v1,
    _write_broker_heartbeat_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> BrokerHeartbeatRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("BrokerHeartbeatRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BrokerHeartbeatRequest is cut short") from error


def encode_request_into(out: bytearray, message: BrokerHeartbeatRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("BrokerHeartbeatRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BrokerHeartbeatRequest holds a value out of range: {error}") from error


def encode_request(message: BrokerHeartbeatRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_broker_heartbeat_response_v0(buf: Buffer, pos: int) -> tuple[BrokerHeartbeatResponse, int]:
    throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down = _PACKED_ihooo.unpack_from(buf, pos)
    pos += 9
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = BrokerHeartbeatResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        is_caught_up=is_caught_up,
        is_fenced=is_fenced,
        should_shut_down=should_shut_down,
    )
    return value, pos


def _write_broker_heartbeat_response_v0(out: bytearray, message: BrokerHeartbeatResponse) -> None:
    out += _PACKED_ihooo.pack(message.throttle_time_ms, message.error_code, message.is_caught_up, message.is_fenced, message.should_shut_down)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[BrokerHeartbeatResponse, int]], ...]] = (
    _read_broker_heartbeat_response_v0,
    _read_broker_heartbeat_response_v0,
    _read_broker_heartbeat_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, BrokerHeartbeatResponse], None], ...]] = (
    _write_broker_heartbeat_response_v0,
    _write_broker_heartbeat_response_v0,
    _write_broker_heartbeat_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> BrokerHeartbeatResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("BrokerHeartbeatResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BrokerHeartbeatResponse is cut short") from error


def encode_response_into(out: bytearray, message: BrokerHeartbeatResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("BrokerHeartbeatResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BrokerHeartbeatResponse holds a value out of range: {error}") from error


def encode_response(message: BrokerHeartbeatResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
