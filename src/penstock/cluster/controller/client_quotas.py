"""Decides changes of client quotas (KIP-546)."""

import ipaddress
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ClientQuotaRecord, EntityData, MetadataRecord
from penstock.security.quotas import entities
from penstock.security.quotas.entities import CLIENT_ID, IP, USER

_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1

# The maximum of a key with integer values; None where fractions are allowed.
_OF_CLIENTS: Mapping[str, int | None] = {
    entities.PRODUCER_BYTE_RATE: _LONG_MAX,
    entities.CONSUMER_BYTE_RATE: _LONG_MAX,
    entities.REQUEST_PERCENTAGE: None,
    entities.CONTROLLER_MUTATION_RATE: None,
}
_OF_ADDRESSES: Mapping[str, int | None] = {entities.CONNECTION_CREATION_RATE: _INT_MAX}

EntityParts = tuple[tuple[str, str | None], ...]
"""Types and names as a client sent them; a name of None is the default."""


class QuotaChange(msgspec.Struct, frozen=True, kw_only=True):
    """The new quotas of one entity; a value of None removes a quota."""

    entity: EntityParts
    values: Sequence[tuple[str, float | None]]


class QuotasAltered(msgspec.Struct, frozen=True, kw_only=True):
    entity: EntityParts
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_alter_quotas(
    image: MetadataImage, changes: Sequence[QuotaChange]
) -> Decision[list[QuotasAltered]]:
    """Decide about each entity separately; its change is made as a whole or not at all."""
    records: list[MetadataRecord] = []
    results: list[QuotasAltered] = []
    seen: set[frozenset[tuple[str, str | None]]] = set()
    for change in changes:
        try:
            records += _records(image, change, seen)
        except Refusal as refusal:
            results.append(QuotasAltered(entity=change.entity, error=refusal.code, message=refusal.message))
        else:
            results.append(QuotasAltered(entity=change.entity))
        seen.add(frozenset(change.entity))
    return Decision(records, results)


def _records(
    image: MetadataImage, change: QuotaChange, seen: AbstractSet[frozenset[tuple[str, str | None]]]
) -> list[MetadataRecord]:
    if frozenset(change.entity) in seen:
        raise _invalid(f"Ignoring duplicate entity {_shown(change.entity)}")
    limits = _limits_for(change.entity)
    current = image.quotas.get(tuple(sorted(change.entity, key=lambda part: part[0])), {})
    entity = [EntityData(entity_type=kind, entity_name=name) for kind, name in change.entity]
    records: list[MetadataRecord] = []
    for key, value in _once_each(change):
        if value is None:
            if key in current:
                records.append(ClientQuotaRecord(entity=entity, key=key, remove=True))
            continue
        _check_value(limits, key, value)
        if current.get(key) != value:
            records.append(ClientQuotaRecord(entity=entity, key=key, value=value))
    return records


def _once_each(change: QuotaChange) -> Sequence[tuple[str, float | None]]:
    keys = [key for key, _ in change.values]
    for key in keys:
        if keys.count(key) > 1:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"Duplicate quota key {key} not updating quota for this entity {_shown(change.entity)}",
            )
    return change.values


def _limits_for(entity: EntityParts) -> Mapping[str, int | None]:
    """Check the entity; returns the keys that it may have."""
    names: dict[str, str | None] = {}
    for kind, name in entity:
        if kind in names:
            raise _invalid(f"Invalid client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        names[kind] = name
    if not names:
        raise _invalid("Invalid empty client quota entity")
    if IP not in names:
        return _OF_CLIENTS
    if len(names) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity should not be combined with User or ClientId"
        )
    address = names[IP]
    if address is not None and not _is_address(address):
        raise _invalid(f"{address} is not a valid IP address")
    return _OF_ADDRESSES


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_value(limits: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in limits:
        raise _invalid(f"Invalid configuration key {key}")
    if not value > 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    greatest = limits[key]
    if greatest is None:
        return
    if value > greatest:
        raise _invalid(
            f"Proposed value for {key} is too large for {'a LONG' if greatest > _INT_MAX else 'an INT'}."
        )
    if value % 1 > 1e-6:
        raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)


def _shown(entity: EntityParts) -> str:
    return ", ".join(f"{kind}={'<default>' if name is None else name}" for kind, name in entity)
