"""Records of the cluster metadata log.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    ZERO_UUID,
    read_compact_array_length,
    read_compact_bytes,
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_int32s,
    read_tag,
    read_uuids,
    read_uvarint,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int32s,
    write_tagged_fields,
    write_uuids,
    wrong_tag_size,
)


_PACKED_Hh: Final = struct.Struct(">Hh")
_PACKED_b: Final = struct.Struct(">b")
_PACKED_bb: Final = struct.Struct(">bb")
_PACKED_do: Final = struct.Struct(">d?")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_hh: Final = struct.Struct(">hh")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_iii: Final = struct.Struct(">iii")
_PACKED_iouq: Final = struct.Struct(">i?16sq")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_iqq: Final = struct.Struct(">iqq")
_PACKED_iu: Final = struct.Struct(">i16s")
_PACKED_iuo: Final = struct.Struct(">i16s?")
_PACKED_iuq: Final = struct.Struct(">i16sq")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_oo: Final = struct.Struct(">??")
_PACKED_qqq: Final = struct.Struct(">qqq")
_PACKED_u: Final = struct.Struct(">16s")
_PACKED_ub: Final = struct.Struct(">16sb")


class AbortTransactionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    reason: str | None = None


class AccessControlEntryRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: bytes = ZERO_UUID
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 0
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0


class BeginTransactionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str | None = None


class BrokerRegistrationChangeRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = 0
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None


class ClearElrRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""


class EntityData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity_type: str = ""
    entity_name: str | None = ""


class ClientQuotaRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity: list[EntityData] = []
    key: str = ""
    value: float = 0.0
    remove: bool = False


class ConfigRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""


class DelegationTokenRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    owner: str = ""
    requester: str = ""
    renewers: list[str] = []
    issue_timestamp: int = 0
    max_timestamp: int = 0
    expiration_timestamp: int = 0
    token_id: str = ""


class EndTransactionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    pass


class FeatureLevelRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    feature_level: int = 0


class FenceBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: int = 0
    epoch: int = 0


class NoOpRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    pass


class PartitionChangeRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_id: int = -1
    topic_id: bytes = ZERO_UUID
    isr: list[int] | None = None
    leader: int = -2
    replicas: list[int] | None = None
    removing_replicas: list[int] | None = None
    adding_replicas: list[int] | None = None
    leader_recovery_state: int = -1
    directories: list[bytes] | None = None
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None


class PartitionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_id: int = -1
    topic_id: bytes = ZERO_UUID
    replicas: list[int] = []
    isr: list[int] = []
    removing_replicas: list[int] = []
    adding_replicas: list[int] = []
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: list[bytes] = []
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None


class ProducerIdsRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = -1
    next_producer_id: int = 0


class BrokerEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0


class BrokerFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0


class RegisterBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    is_migrating_zk_broker: bool = False
    incarnation_id: bytes = ZERO_UUID
    broker_epoch: int = 0
    end_points: list[BrokerEndpoint] = []
    features: list[BrokerFeature] = []
    rack: str | None = ""
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None


class ControllerEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0


class ControllerFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0


class RegisterControllerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    controller_id: int = 0
    incarnation_id: bytes = ZERO_UUID
    zk_migration_ready: bool = False
    end_points: list[ControllerEndpoint] = []
    features: list[ControllerFeature] = []


class RemoveAccessControlEntryRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: bytes = ZERO_UUID


class RemoveDelegationTokenRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    token_id: str = ""


class RemoveTopicRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID


class RemoveUserScramCredentialRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    mechanism: int = 0


class TopicRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID


class UnfenceBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: int = 0
    epoch: int = 0


class UnregisterBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = 0


class UserScramCredentialRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    mechanism: int = 0
    salt: bytes = b""
    stored_key: bytes = b""
    server_key: bytes = b""
    iterations: int = 0


class ZkMigrationStateRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    zk_migration_state: int = 0


def _read_abort_transaction_record_v0(buf: Buffer, pos: int) -> tuple[AbortTransactionRecord, int]:
    reason: str | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                reason, pos = read_compact_nullable_string(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("AbortTransactionRecord", tag)
    return AbortTransactionRecord(reason=reason), pos


def _write_abort_transaction_record_v0(out: bytearray, message: AbortTransactionRecord) -> None:
    tagged: list[tuple[int, bytearray]] = []
    if message.reason is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.reason)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_ABORT_TRANSACTION_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[AbortTransactionRecord, int]], ...]] = (
    _read_abort_transaction_record_v0,
)
_ABORT_TRANSACTION_RECORD_WRITERS: Final[tuple[Callable[[bytearray, AbortTransactionRecord], None], ...]] = (
    _write_abort_transaction_record_v0,
)


def decode_abort_transaction_record(buf: Buffer, version: int, pos: int = 0) -> AbortTransactionRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("AbortTransactionRecord", version)
    try:
        return _ABORT_TRANSACTION_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AbortTransactionRecord is cut short") from error


def encode_abort_transaction_record_into(out: bytearray, message: AbortTransactionRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AbortTransactionRecord", version)
    try:
        _ABORT_TRANSACTION_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AbortTransactionRecord holds a value out of range: {error}") from error


def encode_abort_transaction_record(message: AbortTransactionRecord, version: int) -> bytes:
    out = bytearray()
    encode_abort_transaction_record_into(out, message, version)
    return bytes(out)


def _read_access_control_entry_record_v0(buf: Buffer, pos: int) -> tuple[AccessControlEntryRecord, int]:
    id, resource_type = _PACKED_ub.unpack_from(buf, pos)
    pos += 17
    resource_name, pos = read_compact_string(buf, pos)
    pattern_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AccessControlEntryRecord(
        id=id,
        resource_type=resource_type,
        resource_name=resource_name,
        pattern_type=pattern_type,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_access_control_entry_record_v0(out: bytearray, message: AccessControlEntryRecord) -> None:
    out += _PACKED_ub.pack(message.id, message.resource_type)
    write_compact_string(out, message.resource_name)
    out += _PACKED_b.pack(message.pattern_type)
    write_compact_string(out, message.principal)
    write_compact_string(out, message.host)
    out += _PACKED_bb.pack(message.operation, message.permission_type)
    out.append(0)


_ACCESS_CONTROL_ENTRY_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[AccessControlEntryRecord, int]], ...]] = (
    _read_access_control_entry_record_v0,
)
_ACCESS_CONTROL_ENTRY_RECORD_WRITERS: Final[tuple[Callable[[bytearray, AccessControlEntryRecord], None], ...]] = (
    _write_access_control_entry_record_v0,
)


def decode_access_control_entry_record(buf: Buffer, version: int, pos: int = 0) -> AccessControlEntryRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("AccessControlEntryRecord", version)
    try:
        return _ACCESS_CONTROL_ENTRY_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AccessControlEntryRecord is cut short") from error


def encode_access_control_entry_record_into(out: bytearray, message: AccessControlEntryRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AccessControlEntryRecord", version)
    try:
        _ACCESS_CONTROL_ENTRY_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AccessControlEntryRecord holds a value out of range: {error}") from error


def encode_access_control_entry_record(message: AccessControlEntryRecord, version: int) -> bytes:
    out = bytearray()
    encode_access_control_entry_record_into(out, message, version)
    return bytes(out)


def _read_begin_transaction_record_v0(buf: Buffer, pos: int) -> tuple[BeginTransactionRecord, int]:
    name: str | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                name, pos = read_compact_nullable_string(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BeginTransactionRecord", tag)
    return BeginTransactionRecord(name=name), pos


def _write_begin_transaction_record_v0(out: bytearray, message: BeginTransactionRecord) -> None:
    tagged: list[tuple[int, bytearray]] = []
    if message.name is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.name)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_BEGIN_TRANSACTION_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[BeginTransactionRecord, int]], ...]] = (
    _read_begin_transaction_record_v0,
)
_BEGIN_TRANSACTION_RECORD_WRITERS: Final[tuple[Callable[[bytearray, BeginTransactionRecord], None], ...]] = (
    _write_begin_transaction_record_v0,
)


def decode_begin_transaction_record(buf: Buffer, version: int, pos: int = 0) -> BeginTransactionRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("BeginTransactionRecord", version)
    try:
        return _BEGIN_TRANSACTION_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BeginTransactionRecord is cut short") from error


def encode_begin_transaction_record_into(out: bytearray, message: BeginTransactionRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("BeginTransactionRecord", version)
    try:
        _BEGIN_TRANSACTION_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BeginTransactionRecord holds a value out of range: {error}") from error


def encode_begin_transaction_record(message: BeginTransactionRecord, version: int) -> bytes:
    out = bytearray()
    encode_begin_transaction_record_into(out, message, version)
    return bytes(out)


def _read_broker_registration_change_record_v0(buf: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    fenced: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                fenced = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BrokerRegistrationChangeRecord", tag)
    value = BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        fenced=fenced,
    )
    return value, pos


def _write_broker_registration_change_record_v0(out: bytearray, message: BrokerRegistrationChangeRecord) -> None:
    if message.in_controlled_shutdown != 0:
        raise unsupported_field("BrokerRegistrationChangeRecord.in_controlled_shutdown", 0, 0)
    if message.log_dirs != []:
        raise unsupported_field("BrokerRegistrationChangeRecord.log_dirs", 0, 0)
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("BrokerRegistrationChangeRecord.cordoned_log_dirs", 0, 0)
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    tagged: list[tuple[int, bytearray]] = []
    if message.fenced != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.fenced)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_broker_registration_change_record_v1(buf: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    fenced: int = 0
    in_controlled_shutdown: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                fenced = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 1:
                in_controlled_shutdown = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BrokerRegistrationChangeRecord", tag)
    value = BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
    )
    return value, pos


def _write_broker_registration_change_record_v1(out: bytearray, message: BrokerRegistrationChangeRecord) -> None:
    if message.log_dirs != []:
        raise unsupported_field("BrokerRegistrationChangeRecord.log_dirs", 1, 1)
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("BrokerRegistrationChangeRecord.cordoned_log_dirs", 1, 1)
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    tagged: list[tuple[int, bytearray]] = []
    if message.fenced != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.fenced)
        tagged.append((0, value))
    if message.in_controlled_shutdown != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.in_controlled_shutdown)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


def _read_broker_registration_change_record_v2(buf: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: list[bytes] = []
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                fenced = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 1:
                in_controlled_shutdown = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 2:
                count, pos = read_compact_array_length(buf, pos, 16)
                log_dirs, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BrokerRegistrationChangeRecord", tag)
    value = BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs,
    )
    return value, pos


def _write_broker_registration_change_record_v2(out: bytearray, message: BrokerRegistrationChangeRecord) -> None:
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("BrokerRegistrationChangeRecord.cordoned_log_dirs", 2, 2)
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    tagged: list[tuple[int, bytearray]] = []
    if message.fenced != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.fenced)
        tagged.append((0, value))
    if message.in_controlled_shutdown != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.in_controlled_shutdown)
        tagged.append((1, value))
    if message.log_dirs != []:
        value = bytearray()
        log_dirs = message.log_dirs
        write_compact_array_length(value, len(log_dirs))
        write_uuids(value, log_dirs)
        tagged.append((2, value))
    write_tagged_fields(out, tagged)


def _read_broker_registration_change_record_v3(buf: Buffer, pos: int) -> tuple[BrokerRegistrationChangeRecord, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                fenced = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 1:
                in_controlled_shutdown = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 2:
                count, pos = read_compact_array_length(buf, pos, 16)
                log_dirs, pos = read_uuids(buf, pos, count)
            elif tag == 3:
                count, pos = read_compact_nullable_array_length(buf, pos, 16)
                cordoned_log_dirs = None
                if count >= 0:
                    cordoned_log_dirs, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BrokerRegistrationChangeRecord", tag)
    value = BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs,
        cordoned_log_dirs=cordoned_log_dirs,
    )
    return value, pos


def _write_broker_registration_change_record_v3(out: bytearray, message: BrokerRegistrationChangeRecord) -> None:
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    tagged: list[tuple[int, bytearray]] = []
    if message.fenced != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.fenced)
        tagged.append((0, value))
    if message.in_controlled_shutdown != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.in_controlled_shutdown)
        tagged.append((1, value))
    if message.log_dirs != []:
        value = bytearray()
        log_dirs = message.log_dirs
        write_compact_array_length(value, len(log_dirs))
        write_uuids(value, log_dirs)
        tagged.append((2, value))
    if message.cordoned_log_dirs is not None:
        value = bytearray()
        cordoned_log_dirs = message.cordoned_log_dirs
        write_compact_array_length(value, len(cordoned_log_dirs))
        write_uuids(value, cordoned_log_dirs)
        tagged.append((3, value))
    write_tagged_fields(out, tagged)


_BROKER_REGISTRATION_CHANGE_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[BrokerRegistrationChangeRecord, int]], ...]] = (
    _read_broker_registration_change_record_v0,
    _read_broker_registration_change_record_v1,
    _read_broker_registration_change_record_v2,
    _read_broker_registration_change_record_v3,
)
_BROKER_REGISTRATION_CHANGE_RECORD_WRITERS: Final[tuple[Callable[[bytearray, BrokerRegistrationChangeRecord], None], ...]] = (
    _write_broker_registration_change_record_v0,
    _write_broker_registration_change_record_v1,
    _write_broker_registration_change_record_v2,
    _write_broker_registration_change_record_v3,
)


def decode_broker_registration_change_record(buf: Buffer, version: int, pos: int = 0) -> BrokerRegistrationChangeRecord:
    if not 0 <= version <= 3:
        raise unsupported_version("BrokerRegistrationChangeRecord", version)
    try:
        return _BROKER_REGISTRATION_CHANGE_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BrokerRegistrationChangeRecord is cut short") from error


def encode_broker_registration_change_record_into(out: bytearray, message: BrokerRegistrationChangeRecord, version: int) -> None:
    if not 0 <= version <= 3:
        raise unsupported_version("BrokerRegistrationChangeRecord", version)
    try:
        _BROKER_REGISTRATION_CHANGE_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BrokerRegistrationChangeRecord holds a value out of range: {error}") from error


def encode_broker_registration_change_record(message: BrokerRegistrationChangeRecord, version: int) -> bytes:
    out = bytearray()
    encode_broker_registration_change_record_into(out, message, version)
    return bytes(out)


def _read_clear_elr_record_v0(buf: Buffer, pos: int) -> tuple[ClearElrRecord, int]:
    topic_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ClearElrRecord(topic_name=topic_name), pos


def _write_clear_elr_record_v0(out: bytearray, message: ClearElrRecord) -> None:
    write_compact_string(out, message.topic_name)
    out.append(0)


_CLEAR_ELR_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[ClearElrRecord, int]], ...]] = (
    _read_clear_elr_record_v0,
)
_CLEAR_ELR_RECORD_WRITERS: Final[tuple[Callable[[bytearray, ClearElrRecord], None], ...]] = (
    _write_clear_elr_record_v0,
)


def decode_clear_elr_record(buf: Buffer, version: int, pos: int = 0) -> ClearElrRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("ClearElrRecord", version)
    try:
        return _CLEAR_ELR_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ClearElrRecord is cut short") from error


def encode_clear_elr_record_into(out: bytearray, message: ClearElrRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ClearElrRecord", version)
    try:
        _CLEAR_ELR_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ClearElrRecord holds a value out of range: {error}") from error


def encode_clear_elr_record(message: ClearElrRecord, version: int) -> bytes:
    out = bytearray()
    encode_clear_elr_record_into(out, message, version)
    return bytes(out)


def _read_entity_data_v0(buf: Buffer, pos: int) -> tuple[EntityData, int]:
    entity_type, pos = read_compact_string(buf, pos)
    entity_name, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return EntityData(entity_type=entity_type, entity_name=entity_name), pos


def _write_entity_data_v0(out: bytearray, message: EntityData) -> None:
    write_compact_string(out, message.entity_type)
    write_compact_nullable_string(out, message.entity_name)
    out.append(0)


def _read_client_quota_record_v0(buf: Buffer, pos: int) -> tuple[ClientQuotaRecord, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    entity: list[EntityData] = []
    for _ in range(count):
        entity_item, pos = _read_entity_data_v0(buf, pos)
        entity.append(entity_item)
    key, pos = read_compact_string(buf, pos)
    value_, remove = _PACKED_do.unpack_from(buf, pos)
    pos += 9
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ClientQuotaRecord(entity=entity, key=key, value=value_, remove=remove), pos


def _write_client_quota_record_v0(out: bytearray, message: ClientQuotaRecord) -> None:
    entity = message.entity
    write_compact_array_length(out, len(entity))
    for entity_item in entity:
        _write_entity_data_v0(out, entity_item)
    write_compact_string(out, message.key)
    out += _PACKED_do.pack(message.value, message.remove)
    out.append(0)


_CLIENT_QUOTA_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[ClientQuotaRecord, int]], ...]] = (
    _read_client_quota_record_v0,
)
_CLIENT_QUOTA_RECORD_WRITERS: Final[tuple[Callable[[bytearray, ClientQuotaRecord], None], ...]] = (
    _write_client_quota_record_v0,
)


def decode_client_quota_record(buf: Buffer, version: int, pos: int = 0) -> ClientQuotaRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("ClientQuotaRecord", version)
    try:
        return _CLIENT_QUOTA_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ClientQuotaRecord is cut short") from error


def encode_client_quota_record_into(out: bytearray, message: ClientQuotaRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ClientQuotaRecord", version)
    try:
        _CLIENT_QUOTA_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ClientQuotaRecord holds a value out of range: {error}") from error


def encode_client_quota_record(message: ClientQuotaRecord, version: int) -> bytes:
    out = bytearray()
    encode_client_quota_record_into(out, message, version)
    return bytes(out)


def _read_config_record_v0(buf: Buffer, pos: int) -> tuple[ConfigRecord, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    name, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ConfigRecord(
        resource_type=resource_type,
        resource_name=resource_name,
        name=name,
        value=value_,
    )
    return value, pos


def _write_config_record_v0(out: bytearray, message: ConfigRecord) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    write_compact_string(out, message.name)
    write_compact_nullable_string(out, message.value)
    out.append(0)


_CONFIG_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConfigRecord, int]], ...]] = (
    _read_config_record_v0,
)
_CONFIG_RECORD_WRITERS: Final[tuple[Callable[[bytearray, ConfigRecord], None], ...]] = (
    _write_config_record_v0,
)


def decode_config_record(buf: Buffer, version: int, pos: int = 0) -> ConfigRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("ConfigRecord", version)
    try:
        return _CONFIG_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConfigRecord is cut short") from error


def encode_config_record_into(out: bytearray, message: ConfigRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConfigRecord", version)
    try:
        _CONFIG_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConfigRecord holds a value out of range: {error}") from error


def encode_config_record(message: ConfigRecord, version: int) -> bytes:
    out = bytearray()
    encode_config_record_into(out, message, version)
    return bytes(out)


def _read_delegation_token_record_v0(buf: Buffer, pos: int) -> tuple[DelegationTokenRecord, int]:
    owner, pos = read_compact_string(buf, pos)
    requester, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 1)
    renewers, pos = read_compact_strings(buf, pos, count)
    issue_timestamp, max_timestamp, expiration_timestamp = _PACKED_qqq.unpack_from(buf, pos)
    pos += 24
    token_id, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DelegationTokenRecord(
        owner=owner,
        requester=requester,
        renewers=renewers,
        issue_timestamp=issue_timestamp,
        max_timestamp=max_timestamp,
        expiration_timestamp=expiration_timestamp,
        token_id=token_id,
    )
    return value, pos


def _write_delegation_token_record_v0(out: bytearray, message: DelegationTokenRecord) -> None:
    write_compact_string(out, message.owner)
    write_compact_string(out, message.requester)
    renewers = message.renewers
    write_compact_array_length(out, len(renewers))
    write_compact_strings(out, renewers)
    out += _PACKED_qqq.pack(message.issue_timestamp, message.max_timestamp, message.expiration_timestamp)
    write_compact_string(out, message.token_id)
    out.append(0)


_DELEGATION_TOKEN_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[DelegationTokenRecord, int]], ...]] = (
    _read_delegation_token_record_v0,
)
_DELEGATION_TOKEN_RECORD_WRITERS: Final[tuple[Callable[[bytearray, DelegationTokenRecord], None], ...]] = (
    _write_delegation_token_record_v0,
)


def decode_delegation_token_record(buf: Buffer, version: int, pos: int = 0) -> DelegationTokenRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("DelegationTokenRecord", version)
    try:
        return _DELEGATION_TOKEN_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DelegationTokenRecord is cut short") from error


def encode_delegation_token_record_into(out: bytearray, message: DelegationTokenRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DelegationTokenRecord", version)
    try:
        _DELEGATION_TOKEN_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DelegationTokenRecord holds a value out of range: {error}") from error


def encode_delegation_token_record(message: DelegationTokenRecord, version: int) -> bytes:
    out = bytearray()
    encode_delegation_token_record_into(out, message, version)
    return bytes(out)


def _read_end_transaction_record_v0(buf: Buffer, pos: int) -> tuple[EndTransactionRecord, int]:
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return EndTransactionRecord(), pos


def _write_end_transaction_record_v0(out: bytearray, message: EndTransactionRecord) -> None:
    out.append(0)


_END_TRANSACTION_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[EndTransactionRecord, int]], ...]] = (
    _read_end_transaction_record_v0,
)
_END_TRANSACTION_RECORD_WRITERS: Final[tuple[Callable[[bytearray, EndTransactionRecord], None], ...]] = (
    _write_end_transaction_record_v0,
)


def decode_end_transaction_record(buf: Buffer, version: int, pos: int = 0) -> EndTransactionRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("EndTransactionRecord", version)
    try:
        return _END_TRANSACTION_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("EndTransactionRecord is cut short") from error


def encode_end_transaction_record_into(out: bytearray, message: EndTransactionRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("EndTransactionRecord", version)
    try:
        _END_TRANSACTION_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"EndTransactionRecord holds a value out of range: {error}") from error


def encode_end_transaction_record(message: EndTransactionRecord, version: int) -> bytes:
    out = bytearray()
    encode_end_transaction_record_into(out, message, version)
    return bytes(out)


def _read_feature_level_record_v0(buf: Buffer, pos: int) -> tuple[FeatureLevelRecord, int]:
    name, pos = read_compact_string(buf, pos)
    feature_level = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return FeatureLevelRecord(name=name, feature_level=feature_level), pos


def _write_feature_level_record_v0(out: bytearray, message: FeatureLevelRecord) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_h.pack(message.feature_level)
    out.append(0)


_FEATURE_LEVEL_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[FeatureLevelRecord, int]], ...]] = (
    _read_feature_level_record_v0,
)
_FEATURE_LEVEL_RECORD_WRITERS: Final[tuple[Callable[[bytearray, FeatureLevelRecord], None], ...]] = (
    _write_feature_level_record_v0,
)


def decode_feature_level_record(buf: Buffer, version: int, pos: int = 0) -> FeatureLevelRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("FeatureLevelRecord", version)
    try:
        return _FEATURE_LEVEL_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FeatureLevelRecord is cut short") from error


def encode_feature_level_record_into(out: bytearray, message: FeatureLevelRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("FeatureLevelRecord", version)
    try:
        _FEATURE_LEVEL_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"FeatureLevelRecord holds a value out of range: {error}") from error


def encode_feature_level_record(message: FeatureLevelRecord, version: int) -> bytes:
    out = bytearray()
    encode_feature_level_record_into(out, message, version)
    return bytes(out)


def _read_fence_broker_record_v0(buf: Buffer, pos: int) -> tuple[FenceBrokerRecord, int]:
    id, epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return FenceBrokerRecord(id=id, epoch=epoch), pos


def _write_fence_broker_record_v0(out: bytearray, message: FenceBrokerRecord) -> None:
    out += _PACKED_iq.pack(message.id, message.epoch)
    out.append(0)


_FENCE_BROKER_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[FenceBrokerRecord, int]], ...]] = (
    _read_fence_broker_record_v0,
)
_FENCE_BROKER_RECORD_WRITERS: Final[tuple[Callable[[bytearray, FenceBrokerRecord], None], ...]] = (
    _write_fence_broker_record_v0,
)


def decode_fence_broker_record(buf: Buffer, version: int, pos: int = 0) -> FenceBrokerRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("FenceBrokerRecord", version)
    try:
        return _FENCE_BROKER_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FenceBrokerRecord is cut short") from error


def encode_fence_broker_record_into(out: bytearray, message: FenceBrokerRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("FenceBrokerRecord", version)
    try:
        _FENCE_BROKER_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"FenceBrokerRecord holds a value out of range: {error}") from error


def encode_fence_broker_record(message: FenceBrokerRecord, version: int) -> bytes:
    out = bytearray()
    encode_fence_broker_record_into(out, message, version)
    return bytes(out)


def _read_no_op_record_v0(buf: Buffer, pos: int) -> tuple[NoOpRecord, int]:
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return NoOpRecord(), pos


def _write_no_op_record_v0(out: bytearray, message: NoOpRecord) -> None:
    out.append(0)


_NO_OP_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[NoOpRecord, int]], ...]] = (
    _read_no_op_record_v0,
)
_NO_OP_RECORD_WRITERS: Final[tuple[Callable[[bytearray, NoOpRecord], None], ...]] = (
    _write_no_op_record_v0,
)


def decode_no_op_record(buf: Buffer, version: int, pos: int = 0) -> NoOpRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("NoOpRecord", version)
    try:
        return _NO_OP_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("NoOpRecord is cut short") from error


def encode_no_op_record_into(out: bytearray, message: NoOpRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("NoOpRecord", version)
    try:
        _NO_OP_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"NoOpRecord holds a value out of range: {error}") from error


def encode_no_op_record(message: NoOpRecord, version: int) -> bytes:
    out = bytearray()
    encode_no_op_record_into(out, message, version)
    return bytes(out)


def _read_partition_change_record_v0(buf: Buffer, pos: int) -> tuple[PartitionChangeRecord, int]:
    partition_id, topic_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    isr: list[int] | None = None
    leader: int = -2
    replicas: list[int] | None = None
    removing_replicas: list[int] | None = None
    adding_replicas: list[int] | None = None
    leader_recovery_state: int = -1
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                isr = None
                if count >= 0:
                    isr, pos = read_int32s(buf, pos, count)
            elif tag == 1:
                leader = _PACKED_i.unpack_from(buf, pos)[0]
                pos += 4
            elif tag == 2:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                replicas = None
                if count >= 0:
                    replicas, pos = read_int32s(buf, pos, count)
            elif tag == 3:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                removing_replicas = None
                if count >= 0:
                    removing_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 4:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                adding_replicas = None
                if count >= 0:
                    adding_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 5:
                leader_recovery_state = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionChangeRecord", tag)
    value = PartitionChangeRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        isr=isr,
        leader=leader,
        replicas=replicas,
        removing_replicas=removing_replicas,
        adding_replicas=adding_replicas,
        leader_recovery_state=leader_recovery_state,
    )
    return value, pos


def _write_partition_change_record_v0(out: bytearray, message: PartitionChangeRecord) -> None:
    if message.directories is not None:
        raise unsupported_field("PartitionChangeRecord.directories", 0, 0)
    if message.eligible_leader_replicas is not None:
        raise unsupported_field("PartitionChangeRecord.eligible_leader_replicas", 0, 0)
    if message.last_known_elr is not None:
        raise unsupported_field("PartitionChangeRecord.last_known_elr", 0, 0)
    out += _PACKED_iu.pack(message.partition_id, message.topic_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.isr is not None:
        value = bytearray()
        isr = message.isr
        write_compact_array_length(value, len(isr))
        write_int32s(value, isr)
        tagged.append((0, value))
    if message.leader != -2:
        value = bytearray()
        value += _PACKED_i.pack(message.leader)
        tagged.append((1, value))
    if message.replicas is not None:
        value = bytearray()
        replicas = message.replicas
        write_compact_array_length(value, len(replicas))
        write_int32s(value, replicas)
        tagged.append((2, value))
    if message.removing_replicas is not None:
        value = bytearray()
        removing_replicas = message.removing_replicas
        write_compact_array_length(value, len(removing_replicas))
        write_int32s(value, removing_replicas)
        tagged.append((3, value))
    if message.adding_replicas is not None:
        value = bytearray()
        adding_replicas = message.adding_replicas
        write_compact_array_length(value, len(adding_replicas))
        write_int32s(value, adding_replicas)
        tagged.append((4, value))
    if message.leader_recovery_state != -1:
        value = bytearray()
        value += _PACKED_b.pack(message.leader_recovery_state)
        tagged.append((5, value))
    write_tagged_fields(out, tagged)


def _read_partition_change_record_v1(buf: Buffer, pos: int) -> tuple[PartitionChangeRecord, int]:
    partition_id, topic_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    isr: list[int] | None = None
    leader: int = -2
    replicas: list[int] | None = None
    removing_replicas: list[int] | None = None
    adding_replicas: list[int] | None = None
    leader_recovery_state: int = -1
    directories: list[bytes] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                isr = None
                if count >= 0:
                    isr, pos = read_int32s(buf, pos, count)
            elif tag == 1:
                leader = _PACKED_i.unpack_from(buf, pos)[0]
                pos += 4
            elif tag == 2:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                replicas = None
                if count >= 0:
                    replicas, pos = read_int32s(buf, pos, count)
            elif tag == 3:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                removing_replicas = None
                if count >= 0:
                    removing_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 4:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                adding_replicas = None
                if count >= 0:
                    adding_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 5:
                leader_recovery_state = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 8:
                count, pos = read_compact_nullable_array_length(buf, pos, 16)
                directories = None
                if count >= 0:
                    directories, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionChangeRecord", tag)
    value = PartitionChangeRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        isr=isr,
        leader=leader,
        replicas=replicas,
        removing_replicas=removing_replicas,
        adding_replicas=adding_replicas,
        leader_recovery_state=leader_recovery_state,
        directories=directories,
    )
    return value, pos


def _write_partition_change_record_v1(out: bytearray, message: PartitionChangeRecord) -> None:
    if message.eligible_leader_replicas is not None:
        raise unsupported_field("PartitionChangeRecord.eligible_leader_replicas", 1, 1)
    if message.last_known_elr is not None:
        raise unsupported_field("PartitionChangeRecord.last_known_elr", 1, 1)
    out += _PACKED_iu.pack(message.partition_id, message.topic_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.isr is not None:
        value = bytearray()
        isr = message.isr
        write_compact_array_length(value, len(isr))
        write_int32s(value, isr)
        tagged.append((0, value))
    if message.leader != -2:
        value = bytearray()
        value += _PACKED_i.pack(message.leader)
        tagged.append((1, value))
    if message.replicas is not None:
        value = bytearray()
        replicas = message.replicas
        write_compact_array_length(value, len(replicas))
        write_int32s(value, replicas)
        tagged.append((2, value))
    if message.removing_replicas is not None:
        value = bytearray()
        removing_replicas = message.removing_replicas
        write_compact_array_length(value, len(removing_replicas))
        write_int32s(value, removing_replicas)
        tagged.append((3, value))
    if message.adding_replicas is not None:
        value = bytearray()
        adding_replicas = message.adding_replicas
        write_compact_array_length(value, len(adding_replicas))
        write_int32s(value, adding_replicas)
        tagged.append((4, value))
    if message.leader_recovery_state != -1:
        value = bytearray()
        value += _PACKED_b.pack(message.leader_recovery_state)
        tagged.append((5, value))
    if message.directories is not None:
        value = bytearray()
        directories = message.directories
        write_compact_array_length(value, len(directories))
        write_uuids(value, directories)
        tagged.append((8, value))
    write_tagged_fields(out, tagged)


def _read_partition_change_record_v2(buf: Buffer, pos: int) -> tuple[PartitionChangeRecord, int]:
    partition_id, topic_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    isr: list[int] | None = None
    leader: int = -2
    replicas: list[int] | None = None
    removing_replicas: list[int] | None = None
    adding_replicas: list[int] | None = None
    leader_recovery_state: int = -1
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    directories: list[bytes] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                isr = None
                if count >= 0:
                    isr, pos = read_int32s(buf, pos, count)
            elif tag == 1:
                leader = _PACKED_i.unpack_from(buf, pos)[0]
                pos += 4
            elif tag == 2:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                replicas = None
                if count >= 0:
                    replicas, pos = read_int32s(buf, pos, count)
            elif tag == 3:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                removing_replicas = None
                if count >= 0:
                    removing_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 4:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                adding_replicas = None
                if count >= 0:
                    adding_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 5:
                leader_recovery_state = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 6:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                eligible_leader_replicas = None
                if count >= 0:
                    eligible_leader_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 7:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                last_known_elr = None
                if count >= 0:
                    last_known_elr, pos = read_int32s(buf, pos, count)
            elif tag == 8:
                count, pos = read_compact_nullable_array_length(buf, pos, 16)
                directories = None
                if count >= 0:
                    directories, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionChangeRecord", tag)
    value = PartitionChangeRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        isr=isr,
        leader=leader,
        replicas=replicas,
        removing_replicas=removing_replicas,
        adding_replicas=adding_replicas,
        leader_recovery_state=leader_recovery_state,
        eligible_leader_replicas=eligible_leader_replicas,
        last_known_elr=last_known_elr,
        directories=directories,
    )
    return value, pos


def _write_partition_change_record_v2(out: bytearray, message: PartitionChangeRecord) -> None:
    out += _PACKED_iu.pack(message.partition_id, message.topic_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.isr is not None:
        value = bytearray()
        isr = message.isr
        write_compact_array_length(value, len(isr))
        write_int32s(value, isr)
        tagged.append((0, value))
    if message.leader != -2:
        value = bytearray()
        value += _PACKED_i.pack(message.leader)
        tagged.append((1, value))
    if message.replicas is not None:
        value = bytearray()
        replicas = message.replicas
        write_compact_array_length(value, len(replicas))
        write_int32s(value, replicas)
        tagged.append((2, value))
    if message.removing_replicas is not None:
        value = bytearray()
        removing_replicas = message.removing_replicas
        write_compact_array_length(value, len(removing_replicas))
        write_int32s(value, removing_replicas)
        tagged.append((3, value))
    if message.adding_replicas is not None:
        value = bytearray()
        adding_replicas = message.adding_replicas
        write_compact_array_length(value, len(adding_replicas))
        write_int32s(value, adding_replicas)
        tagged.append((4, value))
    if message.leader_recovery_state != -1:
        value = bytearray()
        value += _PACKED_b.pack(message.leader_recovery_state)
        tagged.append((5, value))
    if message.eligible_leader_replicas is not None:
        value = bytearray()
        eligible_leader_replicas = message.eligible_leader_replicas
        write_compact_array_length(value, len(eligible_leader_replicas))
        write_int32s(value, eligible_leader_replicas)
        tagged.append((6, value))
    if message.last_known_elr is not None:
        value = bytearray()
        last_known_elr = message.last_known_elr
        write_compact_array_length(value, len(last_known_elr))
        write_int32s(value, last_known_elr)
        tagged.append((7, value))
    if message.directories is not None:
        value = bytearray()
        directories = message.directories
        write_compact_array_length(value, len(directories))
        write_uuids(value, directories)
        tagged.append((8, value))
    write_tagged_fields(out, tagged)


_PARTITION_CHANGE_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[PartitionChangeRecord, int]], ...]] = (
    _read_partition_change_record_v0,
    _read_partition_change_record_v1,
    _read_partition_change_record_v2,
)
_PARTITION_CHANGE_RECORD_WRITERS: Final[tuple[Callable[[bytearray, PartitionChangeRecord], None], ...]] = (
    _write_partition_change_record_v0,
    _write_partition_change_record_v1,
    _write_partition_change_record_v2,
)


def decode_partition_change_record(buf: Buffer, version: int, pos: int = 0) -> PartitionChangeRecord:
    if not 0 <= version <= 2:
        raise unsupported_version("PartitionChangeRecord", version)
    try:
        return _PARTITION_CHANGE_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("PartitionChangeRecord is cut short") from error


def encode_partition_change_record_into(out: bytearray, message: PartitionChangeRecord, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("PartitionChangeRecord", version)
    try:
        _PARTITION_CHANGE_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"PartitionChangeRecord holds a value out of range: {error}") from error


def encode_partition_change_record(message: PartitionChangeRecord, version: int) -> bytes:
    out = bytearray()
    encode_partition_change_record_into(out, message, version)
    return bytes(out)


def _read_partition_record_v0(buf: Buffer, pos: int) -> tuple[PartitionRecord, int]:
    partition_id, topic_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    count, pos = read_compact_array_length(buf, pos, 4)
    replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    isr, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    removing_replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    adding_replicas, pos = read_int32s(buf, pos, count)
    leader, leader_epoch, partition_epoch = _PACKED_iii.unpack_from(buf, pos)
    pos += 12
    leader_recovery_state: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                leader_recovery_state = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionRecord", tag)
    value = PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        removing_replicas=removing_replicas,
        adding_replicas=adding_replicas,
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        leader_recovery_state=leader_recovery_state,
    )
    return value, pos


def _write_partition_record_v0(out: bytearray, message: PartitionRecord) -> None:
    if message.directories != []:
        raise unsupported_field("PartitionRecord.directories", 0, 0)
    if message.eligible_leader_replicas is not None:
        raise unsupported_field("PartitionRecord.eligible_leader_replicas", 0, 0)
    if message.last_known_elr is not None:
        raise unsupported_field("PartitionRecord.last_known_elr", 0, 0)
    out += _PACKED_iu.pack(message.partition_id, message.topic_id)
    replicas = message.replicas
    write_compact_array_length(out, len(replicas))
    write_int32s(out, replicas)
    isr = message.isr
    write_compact_array_length(out, len(isr))
    write_int32s(out, isr)
    removing_replicas = message.removing_replicas
    write_compact_array_length(out, len(removing_replicas))
    write_int32s(out, removing_replicas)
    adding_replicas = message.adding_replicas
    write_compact_array_length(out, len(adding_replicas))
    write_int32s(out, adding_replicas)
    out += _PACKED_iii.pack(message.leader, message.leader_epoch, message.partition_epoch)
    tagged: list[tuple[int, bytearray]] = []
    if message.leader_recovery_state != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.leader_recovery_state)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_partition_record_v1(buf: Buffer, pos: int) -> tuple[PartitionRecord, int]:
    partition_id, topic_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    count, pos = read_compact_array_length(buf, pos, 4)
    replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    isr, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    removing_replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    adding_replicas, pos = read_int32s(buf, pos, count)
    leader, leader_epoch, partition_epoch = _PACKED_iii.unpack_from(buf, pos)
    pos += 12
    count, pos = read_compact_array_length(buf, pos, 16)
    directories, pos = read_uuids(buf, pos, count)
    leader_recovery_state: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                leader_recovery_state = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionRecord", tag)
    value = PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        removing_replicas=removing_replicas,
        adding_replicas=adding_replicas,
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        directories=directories,
        leader_recovery_state=leader_recovery_state,
    )
    return value, pos


def _write_partition_record_v1(out: bytearray, message: PartitionRecord) -> None:
    if message.eligible_leader_replicas is not None:
        raise unsupported_field("PartitionRecord.eligible_leader_replicas", 1, 1)
    if message.last_known_elr is not None:
        raise unsupported_field("PartitionRecord.last_known_elr", 1, 1)
    out += _PACKED_iu.pack(message.partition_id, message.topic_id)
    replicas = message.replicas
    write_compact_array_length(out, len(replicas))
    write_int32s(out, replicas)
    isr = message.isr
    write_compact_array_length(out, len(isr))
    write_int32s(out, isr)
    removing_replicas = message.removing_replicas
    write_compact_array_length(out, len(removing_replicas))
    write_int32s(out, removing_replicas)
    adding_replicas = message.adding_replicas
    write_compact_array_length(out, len(adding_replicas))
    write_int32s(out, adding_replicas)
    out += _PACKED_iii.pack(message.leader, message.leader_epoch, message.partition_epoch)
    directories = message.directories
    write_compact_array_length(out, len(directories))
    write_uuids(out, directories)
    tagged: list[tuple[int, bytearray]] = []
    if message.leader_recovery_state != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.leader_recovery_state)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_partition_record_v2(buf: Buffer, pos: int) -> tuple[PartitionRecord, int]:
    partition_id, topic_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    count, pos = read_compact_array_length(buf, pos, 4)
    replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    isr, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    removing_replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    adding_replicas, pos = read_int32s(buf, pos, count)
    leader, leader_epoch, partition_epoch = _PACKED_iii.unpack_from(buf, pos)
    pos += 12
    count, pos = read_compact_array_length(buf, pos, 16)
    directories, pos = read_uuids(buf, pos, count)
    leader_recovery_state: int = 0
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                leader_recovery_state = _PACKED_b.unpack_from(buf, pos)[0]
                pos += 1
            elif tag == 1:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                eligible_leader_replicas = None
                if count >= 0:
                    eligible_leader_replicas, pos = read_int32s(buf, pos, count)
            elif tag == 2:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                last_known_elr = None
                if count >= 0:
                    last_known_elr, pos = read_int32s(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionRecord", tag)
    value = PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        removing_replicas=removing_replicas,
        adding_replicas=adding_replicas,
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        directories=directories,
        leader_recovery_state=leader_recovery_state,
        eligible_leader_replicas=eligible_leader_replicas,
        last_known_elr=last_known_elr,
    )
    return value, pos


def _write_partition_record_v2(out: bytearray, message: PartitionRecord) -> None:
    out += _PACKED_iu.pack(message.partition_id, message.topic_id)
    replicas = message.replicas
    write_compact_array_length(out, len(replicas))
    write_int32s(out, replicas)
    isr = message.isr
    write_compact_array_length(out, len(isr))
    write_int32s(out, isr)
    removing_replicas = message.removing_replicas
    write_compact_array_length(out, len(removing_replicas))
    write_int32s(out, removing_replicas)
    adding_replicas = message.adding_replicas
    write_compact_array_length(out, len(adding_replicas))
    write_int32s(out, adding_replicas)
    out += _PACKED_iii.pack(message.leader, message.leader_epoch, message.partition_epoch)
    directories = message.directories
    write_compact_array_length(out, len(directories))
    write_uuids(out, directories)
    tagged: list[tuple[int, bytearray]] = []
    if message.leader_recovery_state != 0:
        value = bytearray()
        value += _PACKED_b.pack(message.leader_recovery_state)
        tagged.append((0, value))
    if message.eligible_leader_replicas is not None:
        value = bytearray()
        eligible_leader_replicas = message.eligible_leader_replicas
        write_compact_array_length(value, len(eligible_leader_replicas))
        write_int32s(value, eligible_leader_replicas)
        tagged.append((1, value))
    if message.last_known_elr is not None:
        value = bytearray()
        last_known_elr = message.last_known_elr
        write_compact_array_length(value, len(last_known_elr))
        write_int32s(value, last_known_elr)
        tagged.append((2, value))
    write_tagged_fields(out, tagged)


_PARTITION_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[PartitionRecord, int]], ...]] = (
    _read_partition_record_v0,
    _read_partition_record_v1,
    _read_partition_record_v2,
)
_PARTITION_RECORD_WRITERS: Final[tuple[Callable[[bytearray, PartitionRecord], None], ...]] = (
    _write_partition_record_v0,
    _write_partition_record_v1,
    _write_partition_record_v2,
)


def decode_partition_record(buf: Buffer, version: int, pos: int = 0) -> PartitionRecord:
    if not 0 <= version <= 2:
        raise unsupported_version("PartitionRecord", version)
    try:
        return _PARTITION_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("PartitionRecord is cut short") from error


def encode_partition_record_into(out: bytearray, message: PartitionRecord, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("PartitionRecord", version)
    try:
        _PARTITION_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"PartitionRecord holds a value out of range: {error}") from error


def encode_partition_record(message: PartitionRecord, version: int) -> bytes:
    out = bytearray()
    encode_partition_record_into(out, message, version)
    return bytes(out)


def _read_producer_ids_record_v0(buf: Buffer, pos: int) -> tuple[ProducerIdsRecord, int]:
    broker_id, broker_epoch, next_producer_id = _PACKED_iqq.unpack_from(buf, pos)
    pos += 20
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ProducerIdsRecord(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        next_producer_id=next_producer_id,
    )
    return value, pos


def _write_producer_ids_record_v0(out: bytearray, message: ProducerIdsRecord) -> None:
    out += _PACKED_iqq.pack(message.broker_id, message.broker_epoch, message.next_producer_id)
    out.append(0)


_PRODUCER_IDS_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[ProducerIdsRecord, int]], ...]] = (
    _read_producer_ids_record_v0,
)
_PRODUCER_IDS_RECORD_WRITERS: Final[tuple[Callable[[bytearray, ProducerIdsRecord], None], ...]] = (
    _write_producer_ids_record_v0,
)


def decode_producer_ids_record(buf: Buffer, version: int, pos: int = 0) -> ProducerIdsRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("ProducerIdsRecord", version)
    try:
        return _PRODUCER_IDS_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ProducerIdsRecord is cut short") from error


def encode_producer_ids_record_into(out: bytearray, message: ProducerIdsRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ProducerIdsRecord", version)
    try:
        _PRODUCER_IDS_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ProducerIdsRecord holds a value out of range: {error}") from error


def encode_producer_ids_record(message: ProducerIdsRecord, version: int) -> bytes:
    out = bytearray()
    encode_producer_ids_record_into(out, message, version)
    return bytes(out)


def _read_broker_endpoint_v0(buf: Buffer, pos: int) -> tuple[BrokerEndpoint, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port, security_protocol = _PACKED_Hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return BrokerEndpoint(name=name, host=host, port=port, security_protocol=security_protocol), pos


def _write_broker_endpoint_v0(out: bytearray, message: BrokerEndpoint) -> None:
    write_compact_string(out, message.name)
    write_compact_string(out, message.host)
    out += _PACKED_Hh.pack(message.port, message.security_protocol)
    out.append(0)


def _read_broker_feature_v0(buf: Buffer, pos: int) -> tuple[BrokerFeature, int]:
    name, pos = read_compact_string(buf, pos)
    min_supported_version, max_supported_version = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = BrokerFeature(
        name=name,
        min_supported_version=min_supported_version,
        max_supported_version=max_supported_version,
    )
    return value, pos


def _write_broker_feature_v0(out: bytearray, message: BrokerFeature) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_hh.pack(message.min_supported_version, message.max_supported_version)
    out.append(0)


def _read_register_broker_record_v0(buf: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    broker_id, incarnation_id, broker_epoch = _PACKED_iuq.unpack_from(buf, pos)
    pos += 28
    count, pos = read_compact_array_length(buf, pos, 7)
    end_points: list[BrokerEndpoint] = []
    for _ in range(count):
        end_points_item, pos = _read_broker_endpoint_v0(buf, pos)
        end_points.append(end_points_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    features: list[BrokerFeature] = []
    for _ in range(count):
        features_item, pos = _read_broker_feature_v0(buf, pos)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    fenced = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=incarnation_id,
        broker_epoch=broker_epoch,
        end_points=end_points,
        features=features,
        rack=rack,
        fenced=fenced,
    )
    return value, pos


def _write_register_broker_record_v0(out: bytearray, message: RegisterBrokerRecord) -> None:
    if message.is_migrating_zk_broker:
        raise unsupported_field("RegisterBrokerRecord.is_migrating_zk_broker", 0, 0)
    if message.in_controlled_shutdown:
        raise unsupported_field("RegisterBrokerRecord.in_controlled_shutdown", 0, 0)
    if message.log_dirs != []:
        raise unsupported_field("RegisterBrokerRecord.log_dirs", 0, 0)
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("RegisterBrokerRecord.cordoned_log_dirs", 0, 0)
    out += _PACKED_iuq.pack(message.broker_id, message.incarnation_id, message.broker_epoch)
    end_points = message.end_points
    write_compact_array_length(out, len(end_points))
    for end_points_item in end_points:
        _write_broker_endpoint_v0(out, end_points_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_broker_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_o.pack(message.fenced)
    out.append(0)


def _read_register_broker_record_v1(buf: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    broker_id, incarnation_id, broker_epoch = _PACKED_iuq.unpack_from(buf, pos)
    pos += 28
    count, pos = read_compact_array_length(buf, pos, 7)
    end_points: list[BrokerEndpoint] = []
    for _ in range(count):
        end_points_item, pos = _read_broker_endpoint_v0(buf, pos)
        end_points.append(end_points_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    features: list[BrokerFeature] = []
    for _ in range(count):
        features_item, pos = _read_broker_feature_v0(buf, pos)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    fenced, in_controlled_shutdown = _PACKED_oo.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=incarnation_id,
        broker_epoch=broker_epoch,
        end_points=end_points,
        features=features,
        rack=rack,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
    )
    return value, pos


def _write_register_broker_record_v1(out: bytearray, message: RegisterBrokerRecord) -> None:
    if message.is_migrating_zk_broker:
        raise unsupported_field("RegisterBrokerRecord.is_migrating_zk_broker", 1, 1)
    if message.log_dirs != []:
        raise unsupported_field("RegisterBrokerRecord.log_dirs", 1, 1)
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("RegisterBrokerRecord.cordoned_log_dirs", 1, 1)
    out += _PACKED_iuq.pack(message.broker_id, message.incarnation_id, message.broker_epoch)
    end_points = message.end_points
    write_compact_array_length(out, len(end_points))
    for end_points_item in end_points:
        _write_broker_endpoint_v0(out, end_points_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_broker_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_oo.pack(message.fenced, message.in_controlled_shutdown)
    out.append(0)


def _read_register_broker_record_v2(buf: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch = _PACKED_iouq.unpack_from(buf, pos)
    pos += 29
    count, pos = read_compact_array_length(buf, pos, 7)
    end_points: list[BrokerEndpoint] = []
    for _ in range(count):
        end_points_item, pos = _read_broker_endpoint_v0(buf, pos)
        end_points.append(end_points_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    features: list[BrokerFeature] = []
    for _ in range(count):
        features_item, pos = _read_broker_feature_v0(buf, pos)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    fenced, in_controlled_shutdown = _PACKED_oo.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = RegisterBrokerRecord(
        broker_id=broker_id,
        is_migrating_zk_broker=is_migrating_zk_broker,
        incarnation_id=incarnation_id,
        broker_epoch=broker_epoch,
        end_points=end_points,
        features=features,
        rack=rack,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
    )
    return value, pos


def _write_register_broker_record_v2(out: bytearray, message: RegisterBrokerRecord) -> None:
    if message.log_dirs != []:
        raise unsupported_field("RegisterBrokerRecord.log_dirs", 2, 2)
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("RegisterBrokerRecord.cordoned_log_dirs", 2, 2)
    out += _PACKED_iouq.pack(message.broker_id, message.is_migrating_zk_broker, message.incarnation_id, message.broker_epoch)
    end_points = message.end_points
    write_compact_array_length(out, len(end_points))
    for end_points_item in end_points:
        _write_broker_endpoint_v0(out, end_points_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_broker_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_oo.pack(message.fenced, message.in_controlled_shutdown)
    out.append(0)


def _read_register_broker_record_v3(buf: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch = _PACKED_iouq.unpack_from(buf, pos)
    pos += 29
    count, pos = read_compact_array_length(buf, pos, 7)
    end_points: list[BrokerEndpoint] = []
    for _ in range(count):
        end_points_item, pos = _read_broker_endpoint_v0(buf, pos)
        end_points.append(end_points_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    features: list[BrokerFeature] = []
    for _ in range(count):
        features_item, pos = _read_broker_feature_v0(buf, pos)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    fenced, in_controlled_shutdown = _PACKED_oo.unpack_from(buf, pos)
    pos += 2
    log_dirs: list[bytes] = []
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 16)
                log_dirs, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("RegisterBrokerRecord", tag)
    value = RegisterBrokerRecord(
        broker_id=broker_id,
        is_migrating_zk_broker=is_migrating_zk_broker,
        incarnation_id=incarnation_id,
        broker_epoch=broker_epoch,
        end_points=end_points,
        features=features,
        rack=rack,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs,
    )
    return value, pos


def _write_register_broker_record_v3(out: bytearray, message: RegisterBrokerRecord) -> None:
    if message.cordoned_log_dirs is not None:
        raise unsupported_field("RegisterBrokerRecord.cordoned_log_dirs", 3, 3)
    out += _PACKED_iouq.pack(message.broker_id, message.is_migrating_zk_broker, message.incarnation_id, message.broker_epoch)
    end_points = message.end_points
    write_compact_array_length(out, len(end_points))
    for end_points_item in end_points:
        _write_broker_endpoint_v0(out, end_points_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_broker_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_oo.pack(message.fenced, message.in_controlled_shutdown)
    tagged: list[tuple[int, bytearray]] = []
    if message.log_dirs != []:
        value = bytearray()
        log_dirs = message.log_dirs
        write_compact_array_length(value, len(log_dirs))
        write_uuids(value, log_dirs)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_register_broker_record_v4(buf: Buffer, pos: int) -> tuple[RegisterBrokerRecord, int]:
    broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch = _PACKED_iouq.unpack_from(buf, pos)
    pos += 29
    count, pos = read_compact_array_length(buf, pos, 7)
    end_points: list[BrokerEndpoint] = []
    for _ in range(count):
        end_points_item, pos = _read_broker_endpoint_v0(buf, pos)
        end_points.append(end_points_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    features: list[BrokerFeature] = []
    for _ in range(count):
        features_item, pos = _read_broker_feature_v0(buf, pos)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    fenced, in_controlled_shutdown = _PACKED_oo.unpack_from(buf, pos)
    pos += 2
    log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 16)
                log_dirs, pos = read_uuids(buf, pos, count)
            elif tag == 1:
                count, pos = read_compact_nullable_array_length(buf, pos, 16)
                cordoned_log_dirs = None
                if count >= 0:
                    cordoned_log_dirs, pos = read_uuids(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("RegisterBrokerRecord", tag)
    value = RegisterBrokerRecord(
        broker_id=broker_id,
        is_migrating_zk_broker=is_migrating_zk_broker,
        incarnation_id=incarnation_id,
        broker_epoch=broker_epoch,
        end_points=end_points,
        features=features,
        rack=rack,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs,
        cordoned_log_dirs=cordoned_log_dirs,
    )
    return value, pos


def _write_register_broker_record_v4(out: bytearray, message: RegisterBrokerRecord) -> None:
    out += _PACKED_iouq.pack(message.broker_id, message.is_migrating_zk_broker, message.incarnation_id, message.broker_epoch)
    end_points = message.end_points
    write_compact_array_length(out, len(end_points))
    for end_points_item in end_points:
        _write_broker_endpoint_v0(out, end_points_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_broker_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_oo.pack(message.fenced, message.in_controlled_shutdown)
    tagged: list[tuple[int, bytearray]] = []
    if message.log_dirs != []:
        value = bytearray()
        log_dirs = message.log_dirs
        write_compact_array_length(value, len(log_dirs))
        write_uuids(value, log_dirs)
        tagged.append((0, value))
    if message.cordoned_log_dirs is not None:
        value = bytearray()
        cordoned_log_dirs = message.cordoned_log_dirs
        write_compact_array_length(value, len(cordoned_log_dirs))
        write_uuids(value, cordoned_log_dirs)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


_REGISTER_BROKER_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[RegisterBrokerRecord, int]], ...]] = (
    _read_register_broker_record_v0,
    _read_register_broker_record_v1,
    _read_register_broker_record_v2,
    _read_register_broker_record_v3,
    _read_register_broker_record_v4,
)
_REGISTER_BROKER_RECORD_WRITERS: Final[tuple[Callable[[bytearray, RegisterBrokerRecord], None], ...]] = (
    _write_register_broker_record_v0,
    _write_register_broker_record_v1,
    _write_register_broker_record_v2,
    _write_register_broker_record_v3,
    _write_register_broker_record_v4,
)


def decode_register_broker_record(buf: Buffer, version: int, pos: int = 0) -> RegisterBrokerRecord:
    if not 0 <= version <= 4:
        raise unsupported_version("RegisterBrokerRecord", version)
    try:
        return _REGISTER_BROKER_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RegisterBrokerRecord is cut short") from error


def encode_register_broker_record_into(out: bytearray, message: RegisterBrokerRecord, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("RegisterBrokerRecord", version)
    try:
        _REGISTER_BROKER_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RegisterBrokerRecord holds a value out of range: {error}") from error


def encode_register_broker_record(message: RegisterBrokerRecord, version: int) -> bytes:
    out = bytearray()
    encode_register_broker_record_into(out, message, version)
    return bytes(out)


def _read_controller_endpoint_v0(buf: Buffer, pos: int) -> tuple[ControllerEndpoint, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port, security_protocol = _PACKED_Hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ControllerEndpoint(name=name, host=host, port=port, security_protocol=security_protocol), pos


def _write_controller_endpoint_v0(out: bytearray, message: ControllerEndpoint) -> None:
    write_compact_string(out, message.name)
    write_compact_string(out, message.host)
    out += _PACKED_Hh.pack(message.port, message.security_protocol)
    out.append(0)


def _read_controller_feature_v0(buf: Buffer, pos: int) -> tuple[ControllerFeature, int]:
    name, pos = read_compact_string(buf, pos)
    min_supported_version, max_supported_version = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ControllerFeature(
        name=name,
        min_supported_version=min_supported_version,
        max_supported_version=max_supported_version,
    )
    return value, pos


def _write_controller_feature_v0(out: bytearray, message: ControllerFeature) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_hh.pack(message.min_supported_version, message.max_supported_version)
    out.append(0)


def _read_register_controller_record_v0(buf: Buffer, pos: int) -> tuple[RegisterControllerRecord, int]:
    controller_id, incarnation_id, zk_migration_ready = _PACKED_iuo.unpack_from(buf, pos)
    pos += 21
    count, pos = read_compact_array_length(buf, pos, 7)
    end_points: list[ControllerEndpoint] = []
    for _ in range(count):
        end_points_item, pos = _read_controller_endpoint_v0(buf, pos)
        end_points.append(end_points_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    features: list[ControllerFeature] = []
    for _ in range(count):
        features_item, pos = _read_controller_feature_v0(buf, pos)
        features.append(features_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = RegisterControllerRecord(
        controller_id=controller_id,
        incarnation_id=incarnation_id,
        zk_migration_ready=zk_migration_ready,
        end_points=end_points,
        features=features,
    )
    return value, pos


def _write_register_controller_record_v0(out: bytearray, message: RegisterControllerRecord) -> None:
    out += _PACKED_iuo.pack(message.controller_id, message.incarnation_id, message.zk_migration_ready)
    end_points = message.end_points
    write_compact_array_length(out, len(end_points))
    for end_points_item in end_points:
        _write_controller_endpoint_v0(out, end_points_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_controller_feature_v0(out, features_item)
    out.append(0)


_REGISTER_CONTROLLER_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[RegisterControllerRecord, int]], ...]] = (
    _read_register_controller_record_v0,
)
_REGISTER_CONTROLLER_RECORD_WRITERS: Final[tuple[Callable[[bytearray, RegisterControllerRecord], None], ...]] = (
    _write_register_controller_record_v0,
)


def decode_register_controller_record(buf: Buffer, version: int, pos: int = 0) -> RegisterControllerRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("RegisterControllerRecord", version)
    try:
        return _REGISTER_CONTROLLER_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RegisterControllerRecord is cut short") from error


def encode_register_controller_record_into(out: bytearray, message: RegisterControllerRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("RegisterControllerRecord", version)
    try:
        _REGISTER_CONTROLLER_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RegisterControllerRecord holds a value out of range: {error}") from error


def encode_register_controller_record(message: RegisterControllerRecord, version: int) -> bytes:
    out = bytearray()
    encode_register_controller_record_into(out, message, version)
    return bytes(out)


def _read_remove_access_control_entry_record_v0(buf: Buffer, pos: int) -> tuple[RemoveAccessControlEntryRecord, int]:
    id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return RemoveAccessControlEntryRecord(id=id), pos


def _write_remove_access_control_entry_record_v0(out: bytearray, message: RemoveAccessControlEntryRecord) -> None:
    out += _PACKED_u.pack(message.id)
    out.append(0)


_REMOVE_ACCESS_CONTROL_ENTRY_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[RemoveAccessControlEntryRecord, int]], ...]] = (
    _read_remove_access_control_entry_record_v0,
)
_REMOVE_ACCESS_CONTROL_ENTRY_RECORD_WRITERS: Final[tuple[Callable[[bytearray, RemoveAccessControlEntryRecord], None], ...]] = (
    _write_remove_access_control_entry_record_v0,
)


def decode_remove_access_control_entry_record(buf: Buffer, version: int, pos: int = 0) -> RemoveAccessControlEntryRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveAccessControlEntryRecord", version)
    try:
        return _REMOVE_ACCESS_CONTROL_ENTRY_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RemoveAccessControlEntryRecord is cut short") from error


def encode_remove_access_control_entry_record_into(out: bytearray, message: RemoveAccessControlEntryRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveAccessControlEntryRecord", version)
    try:
        _REMOVE_ACCESS_CONTROL_ENTRY_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RemoveAccessControlEntryRecord holds a value out of range: {error}") from error


def encode_remove_access_control_entry_record(message: RemoveAccessControlEntryRecord, version: int) -> bytes:
    out = bytearray()
    encode_remove_access_control_entry_record_into(out, message, version)
    return bytes(out)


def _read_remove_delegation_token_record_v0(buf: Buffer, pos: int) -> tuple[RemoveDelegationTokenRecord, int]:
    token_id, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return RemoveDelegationTokenRecord(token_id=token_id), pos


def _write_remove_delegation_token_record_v0(out: bytearray, message: RemoveDelegationTokenRecord) -> None:
    write_compact_string(out, message.token_id)
    out.append(0)


_REMOVE_DELEGATION_TOKEN_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[RemoveDelegationTokenRecord, int]], ...]] = (
    _read_remove_delegation_token_record_v0,
)
_REMOVE_DELEGATION_TOKEN_RECORD_WRITERS: Final[tuple[Callable[[bytearray, RemoveDelegationTokenRecord], None], ...]] = (
    _write_remove_delegation_token_record_v0,
)


def decode_remove_delegation_token_record(buf: Buffer, version: int, pos: int = 0) -> RemoveDelegationTokenRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveDelegationTokenRecord", version)
    try:
        return _REMOVE_DELEGATION_TOKEN_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RemoveDelegationTokenRecord is cut short") from error


def encode_remove_delegation_token_record_into(out: bytearray, message: RemoveDelegationTokenRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveDelegationTokenRecord", version)
    try:
        _REMOVE_DELEGATION_TOKEN_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RemoveDelegationTokenRecord holds a value out of range: {error}") from error


def encode_remove_delegation_token_record(message: RemoveDelegationTokenRecord, version: int) -> bytes:
    out = bytearray()
    encode_remove_delegation_token_record_into(out, message, version)
    return bytes(out)


def _read_remove_topic_record_v0(buf: Buffer, pos: int) -> tuple[RemoveTopicRecord, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return RemoveTopicRecord(topic_id=topic_id), pos


def _write_remove_topic_record_v0(out: bytearray, message: RemoveTopicRecord) -> None:
    out += _PACKED_u.pack(message.topic_id)
    out.append(0)


_REMOVE_TOPIC_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[RemoveTopicRecord, int]], ...]] = (
    _read_remove_topic_record_v0,
)
_REMOVE_TOPIC_RECORD_WRITERS: Final[tuple[Callable[[bytearray, RemoveTopicRecord], None], ...]] = (
    _write_remove_topic_record_v0,
)


def decode_remove_topic_record(buf: Buffer, version: int, pos: int = 0) -> RemoveTopicRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveTopicRecord", version)
    try:
        return _REMOVE_TOPIC_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RemoveTopicRecord is cut short") from error


def encode_remove_topic_record_into(out: bytearray, message: RemoveTopicRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveTopicRecord", version)
    try:
        _REMOVE_TOPIC_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RemoveTopicRecord holds a value out of range: {error}") from error


def encode_remove_topic_record(message: RemoveTopicRecord, version: int) -> bytes:
    out = bytearray()
    encode_remove_topic_record_into(out, message, version)
    return bytes(out)


def _read_remove_user_scram_credential_record_v0(buf: Buffer, pos: int) -> tuple[RemoveUserScramCredentialRecord, int]:
    name, pos = read_compact_string(buf, pos)
    mechanism = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return RemoveUserScramCredentialRecord(name=name, mechanism=mechanism), pos


def _write_remove_user_scram_credential_record_v0(out: bytearray, message: RemoveUserScramCredentialRecord) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_b.pack(message.mechanism)
    out.append(0)


_REMOVE_USER_SCRAM_CREDENTIAL_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[RemoveUserScramCredentialRecord, int]], ...]] = (
    _read_remove_user_scram_credential_record_v0,
)
_REMOVE_USER_SCRAM_CREDENTIAL_RECORD_WRITERS: Final[tuple[Callable[[bytearray, RemoveUserScramCredentialRecord], None], ...]] = (
    _write_remove_user_scram_credential_record_v0,
)


def decode_remove_user_scram_credential_record(buf: Buffer, version: int, pos: int = 0) -> RemoveUserScramCredentialRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveUserScramCredentialRecord", version)
    try:
        return _REMOVE_USER_SCRAM_CREDENTIAL_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RemoveUserScramCredentialRecord is cut short") from error


def encode_remove_user_scram_credential_record_into(out: bytearray, message: RemoveUserScramCredentialRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveUserScramCredentialRecord", version)
    try:
        _REMOVE_USER_SCRAM_CREDENTIAL_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RemoveUserScramCredentialRecord holds a value out of range: {error}") from error


def encode_remove_user_scram_credential_record(message: RemoveUserScramCredentialRecord, version: int) -> bytes:
    out = bytearray()
    encode_remove_user_scram_credential_record_into(out, message, version)
    return bytes(out)


def _read_topic_record_v0(buf: Buffer, pos: int) -> tuple[TopicRecord, int]:
    name, pos = read_compact_string(buf, pos)
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicRecord(name=name, topic_id=topic_id), pos


def _write_topic_record_v0(out: bytearray, message: TopicRecord) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_u.pack(message.topic_id)
    out.append(0)


_TOPIC_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[TopicRecord, int]], ...]] = (
    _read_topic_record_v0,
)
_TOPIC_RECORD_WRITERS: Final[tuple[Callable[[bytearray, TopicRecord], None], ...]] = (
    _write_topic_record_v0,
)


def decode_topic_record(buf: Buffer, version: int, pos: int = 0) -> TopicRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("TopicRecord", version)
    try:
        return _TOPIC_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("TopicRecord is cut short") from error


def encode_topic_record_into(out: bytearray, message: TopicRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("TopicRecord", version)
    try:
        _TOPIC_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"TopicRecord holds a value out of range: {error}") from error


def encode_topic_record(message: TopicRecord, version: int) -> bytes:
    out = bytearray()
    encode_topic_record_into(out, message, version)
    return bytes(out)


def _read_unfence_broker_record_v0(buf: Buffer, pos: int) -> tuple[UnfenceBrokerRecord, int]:
    id, epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return UnfenceBrokerRecord(id=id, epoch=epoch), pos


def _write_unfence_broker_record_v0(out: bytearray, message: UnfenceBrokerRecord) -> None:
    out += _PACKED_iq.pack(message.id, message.epoch)
    out.append(0)


_UNFENCE_BROKER_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[UnfenceBrokerRecord, int]], ...]] = (
    _read_unfence_broker_record_v0,
)
_UNFENCE_BROKER_RECORD_WRITERS: Final[tuple[Callable[[bytearray, UnfenceBrokerRecord], None], ...]] = (
    _write_unfence_broker_record_v0,
)


def decode_unfence_broker_record(buf: Buffer, version: int, pos: int = 0) -> UnfenceBrokerRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("UnfenceBrokerRecord", version)
    try:
        return _UNFENCE_BROKER_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UnfenceBrokerRecord is cut short") from error


def encode_unfence_broker_record_into(out: bytearray, message: UnfenceBrokerRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("UnfenceBrokerRecord", version)
    try:
        _UNFENCE_BROKER_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UnfenceBrokerRecord holds a value out of range: {error}") from error


def encode_unfence_broker_record(message: UnfenceBrokerRecord, version: int) -> bytes:
    out = bytearray()
    encode_unfence_broker_record_into(out, message, version)
    return bytes(out)


def _read_unregister_broker_record_v0(buf: Buffer, pos: int) -> tuple[UnregisterBrokerRecord, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_epoch), pos


def _write_unregister_broker_record_v0(out: bytearray, message: UnregisterBrokerRecord) -> None:
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    out.append(0)


_UNREGISTER_BROKER_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[UnregisterBrokerRecord, int]], ...]] = (
    _read_unregister_broker_record_v0,
)
_UNREGISTER_BROKER_RECORD_WRITERS: Final[tuple[Callable[[bytearray, UnregisterBrokerRecord], None], ...]] = (
    _write_unregister_broker_record_v0,
)


def decode_unregister_broker_record(buf: Buffer, version: int, pos: int = 0) -> UnregisterBrokerRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("UnregisterBrokerRecord", version)
    try:
        return _UNREGISTER_BROKER_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UnregisterBrokerRecord is cut short") from error


def encode_unregister_broker_record_into(out: bytearray, message: UnregisterBrokerRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("UnregisterBrokerRecord", version)
    try:
        _UNREGISTER_BROKER_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UnregisterBrokerRecord holds a value out of range: {error}") from error


def encode_unregister_broker_record(message: UnregisterBrokerRecord, version: int) -> bytes:
    out = bytearray()
    encode_unregister_broker_record_into(out, message, version)
    return bytes(out)


def _read_user_scram_credential_record_v0(buf: Buffer, pos: int) -> tuple[UserScramCredentialRecord, int]:
    name, pos = read_compact_string(buf, pos)
    mechanism = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    salt, pos = read_compact_bytes(buf, pos)
    stored_key, pos = read_compact_bytes(buf, pos)
    server_key, pos = read_compact_bytes(buf, pos)
    iterations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = UserScramCredentialRecord(
        name=name,
        mechanism=mechanism,
        salt=salt,
        stored_key=stored_key,
        server_key=server_key,
        iterations=iterations,
    )
    return value, pos


def _write_user_scram_credential_record_v0(out: bytearray, message: UserScramCredentialRecord) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_b.pack(message.mechanism)
    write_compact_bytes(out, message.salt)
    write_compact_bytes(out, message.stored_key)
    write_compact_bytes(out, message.server_key)
    out += _PACKED_i.pack(message.iterations)
    out.append(0)


_USER_SCRAM_CREDENTIAL_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[UserScramCredentialRecord, int]], ...]] = (
    _read_user_scram_credential_record_v0,
)
_USER_SCRAM_CREDENTIAL_RECORD_WRITERS: Final[tuple[Callable[[bytearray, UserScramCredentialRecord], None], ...]] = (
    _write_user_scram_credential_record_v0,
)


def decode_user_scram_credential_record(buf: Buffer, version: int, pos: int = 0) -> UserScramCredentialRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("UserScramCredentialRecord", version)
    try:
        return _USER_SCRAM_CREDENTIAL_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UserScramCredentialRecord is cut short") from error


def encode_user_scram_credential_record_into(out: bytearray, message: UserScramCredentialRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("UserScramCredentialRecord", version)
    try:
        _USER_SCRAM_CREDENTIAL_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UserScramCredentialRecord holds a value out of range: {error}") from error


def encode_user_scram_credential_record(message: UserScramCredentialRecord, version: int) -> bytes:
    out = bytearray()
    encode_user_scram_credential_record_into(out, message, version)
    return bytes(out)


def _read_zk_migration_state_record_v0(buf: Buffer, pos: int) -> tuple[ZkMigrationStateRecord, int]:
    zk_migration_state = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ZkMigrationStateRecord(zk_migration_state=zk_migration_state), pos


def _write_zk_migration_state_record_v0(out: bytearray, message: ZkMigrationStateRecord) -> None:
    out += _PACKED_b.pack(message.zk_migration_state)
    out.append(0)


_ZK_MIGRATION_STATE_RECORD_READERS: Final[tuple[Callable[[Buffer, int], tuple[ZkMigrationStateRecord, int]], ...]] = (
    _read_zk_migration_state_record_v0,
)
_ZK_MIGRATION_STATE_RECORD_WRITERS: Final[tuple[Callable[[bytearray, ZkMigrationStateRecord], None], ...]] = (
    _write_zk_migration_state_record_v0,
)


def decode_zk_migration_state_record(buf: Buffer, version: int, pos: int = 0) -> ZkMigrationStateRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("ZkMigrationStateRecord", version)
    try:
        return _ZK_MIGRATION_STATE_RECORD_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ZkMigrationStateRecord is cut short") from error


def encode_zk_migration_state_record_into(out: bytearray, message: ZkMigrationStateRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ZkMigrationStateRecord", version)
    try:
        _ZK_MIGRATION_STATE_RECORD_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ZkMigrationStateRecord holds a value out of range: {error}") from error


def encode_zk_migration_state_record(message: ZkMigrationStateRecord, version: int) -> bytes:
    out = bytearray()
    encode_zk_migration_state_record_into(out, message, version)
    return bytes(out)


MetadataRecord: TypeAlias = (RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RemoveTopicRecord
    | DelegationTokenRecord
    | UserScramCredentialRecord
    | FeatureLevelRecord
    | ClientQuotaRecord
    | ProducerIdsRecord
    | BrokerRegistrationChangeRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | NoOpRecord
    | ZkMigrationStateRecord
    | RemoveUserScramCredentialRecord
    | BeginTransactionRecord
    | EndTransactionRecord
    | AbortTransactionRecord
    | RemoveDelegationTokenRecord
    | RegisterControllerRecord
    | ClearElrRecord
)


class RecordSpec(NamedTuple):
    api_key: int
    record_class: type[MetadataRecord]
    versions: range
    decode: Callable[[Buffer, int, int], MetadataRecord]
    encode_into: Callable[[bytearray, Any, int], None]


RECORDS: Final[dict[int, RecordSpec]] = {
    0: RecordSpec(0, RegisterBrokerRecord, range(0, 5), decode_register_broker_record, encode_register_broker_record_into),
    1: RecordSpec(1, UnregisterBrokerRecord, range(0, 1), decode_unregister_broker_record, encode_unregister_broker_record_into),
    2: RecordSpec(2, TopicRecord, range(0, 1), decode_topic_record, encode_topic_record_into),
    3: RecordSpec(3, PartitionRecord, range(0, 3), decode_partition_record, encode_partition_record_into),
    4: RecordSpec(4, ConfigRecord, range(0, 1), decode_config_record, encode_config_record_into),
    5: RecordSpec(5, PartitionChangeRecord, range(0, 3), decode_partition_change_record, encode_partition_change_record_into),
    7: RecordSpec(7, FenceBrokerRecord, range(0, 1), decode_fence_broker_record, encode_fence_broker_record_into),
    8: RecordSpec(8, UnfenceBrokerRecord, range(0, 1), decode_unfence_broker_record, encode_unfence_broker_record_into),
    9: RecordSpec(9, RemoveTopicRecord, range(0, 1), decode_remove_topic_record, encode_remove_topic_record_into),
    10: RecordSpec(10, DelegationTokenRecord, range(0, 1), decode_delegation_token_record, encode_delegation_token_record_into),
    11: RecordSpec(11, UserScramCredentialRecord, range(0, 1), decode_user_scram_credential_record, encode_user_scram_credential_record_into),
    12: RecordSpec(12, FeatureLevelRecord, range(0, 1), decode_feature_level_record, encode_feature_level_record_into),
    14: RecordSpec(14, ClientQuotaRecord, range(0, 1), decode_client_quota_record, encode_client_quota_record_into),
    15: RecordSpec(15, ProducerIdsRecord, range(0, 1), decode_producer_ids_record, encode_producer_ids_record_into),
    17: RecordSpec(17, BrokerRegistrationChangeRecord, range(0, 4), decode_broker_registration_change_record, encode_broker_registration_change_record_into),
    18: RecordSpec(18, AccessControlEntryRecord, range(0, 1), decode_access_control_entry_record, encode_access_control_entry_record_into),
    19: RecordSpec(19, RemoveAccessControlEntryRecord, range(0, 1), decode_remove_access_control_entry_record, encode_remove_access_control_entry_record_into),
    20: RecordSpec(20, NoOpRecord, range(0, 1), decode_no_op_record, encode_no_op_record_into),
    21: RecordSpec(21, ZkMigrationStateRecord, range(0, 1), decode_zk_migration_state_record, encode_zk_migration_state_record_into),
    22: RecordSpec(22, RemoveUserScramCredentialRecord, range(0, 1), decode_remove_user_scram_credential_record, encode_remove_user_scram_credential_record_into),
    23: RecordSpec(23, BeginTransactionRecord, range(0, 1), decode_begin_transaction_record, encode_begin_transaction_record_into),
    24: RecordSpec(24, EndTransactionRecord, range(0, 1), decode_end_transaction_record, encode_end_transaction_record_into),
    25: RecordSpec(25, AbortTransactionRecord, range(0, 1), decode_abort_transaction_record, encode_abort_transaction_record_into),
    26: RecordSpec(26, RemoveDelegationTokenRecord, range(0, 1), decode_remove_delegation_token_record, encode_remove_delegation_token_record_into),
    27: RecordSpec(27, RegisterControllerRecord, range(0, 1), decode_register_controller_record, encode_register_controller_record_into),
    28: RecordSpec(28, ClearElrRecord, range(0, 1), decode_clear_elr_record, encode_clear_elr_record_into),
}
SPEC_OF: Final[dict[type[MetadataRecord], RecordSpec]] = {
    spec.record_class: spec for spec in RECORDS.values()
}


def decode(api_key: int, buf: Buffer, version: int, pos: int = 0) -> MetadataRecord:
    spec = RECORDS.get(api_key)
    if spec is None:
        raise ProtocolError(f"no metadata record has the key {api_key}")
    return spec.decode(buf, version, pos)


def encode_into(out: bytearray, record: MetadataRecord, version: int) -> None:
    SPEC_OF[type(record)].encode_into(out, record, version)
