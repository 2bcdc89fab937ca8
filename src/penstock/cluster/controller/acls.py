"""Decides CreateAcls and DeleteAcls: each entry, and each filter, individually (KIP-140, KIP-290, KIP-801)."""

import random
from collections.abc import Sequence

import msgspec

from penstock.cluster.controller.decision import RECORDS_PER_DECISION_MAX, Decision, Refusal
from penstock.cluster.controller.identifiers import new_uuid
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    MetadataRecord,
    RemoveAccessControlEntryRecord,
)
from penstock.security.acl import AccessControlEntry, AclFilter, PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import CLUSTER_NAME, PatternType, ResourceType

_OPERATIONS = frozenset(Operation) - {Operation.UNKNOWN, Operation.ANY}
_RESOURCE_TYPES = frozenset(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY}
_COMPARISONS_MAX = 200_000
"""The limit of comparisons of filters with entries in one request: each takes a microsecond of the event loop."""

UNKNOWN_FILTER = (
    "The filter has a resource type, pattern type, operation or permission type that is not known."
)


class AclCreated(msgspec.Struct, frozen=True, kw_only=True):
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class AclsDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """The entries that one filter matched and that were deleted."""

    entries: Sequence[AccessControlEntry] = ()
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_create_acls(
    image: MetadataImage, entries: Sequence[AccessControlEntry], randomness: random.Random
) -> Decision[list[AclCreated]]:
    """Add entries; an entry that exists already is a success that changes nothing."""
    existing = set(image.acls.values())
    records: list[MetadataRecord] = []
    results = []
    for entry in entries:
        try:
            _check(entry)
            if entry not in existing:
                _refuse_too_many(len(records) + 1)
                existing.add(entry)
                records.append(_record(new_uuid(randomness), entry))
        except Refusal as refusal:
            results.append(AclCreated(error=refusal.code, message=refusal.message))
        else:
            results.append(AclCreated())
    return Decision(records, results)


def decide_delete_acls(image: MetadataImage, filters: Sequence[AclFilter]) -> Decision[list[AclsDeleted]]:
    """Delete the entries that match each filter. An entry that matches several is in the result of each."""
    ids = {entry: acl_id for acl_id, entry in image.acls.items()}
    removed: dict[bytes, MetadataRecord] = {}
    results = []
    comparisons = 0
    for wanted in filters:
        only = wanted.only_match()
        try:
            _check_filter(wanted)
            if only is None:
                comparisons += len(ids)
                _refuse_too_wide(comparisons, len(ids))
                found = [entry for entry in ids if wanted.matches(entry)]
            else:
                found = [only] if only in ids else []
            new_ids = [ids[entry] for entry in found if ids[entry] not in removed]
            _refuse_too_many(len(removed) + len(new_ids))
        except Refusal as refusal:
            results.append(AclsDeleted(error=refusal.code, message=refusal.message))
            continue
        removed.update((each, RemoveAccessControlEntryRecord(id=each)) for each in new_ids)
        results.append(AclsDeleted(entries=found))
    return Decision(list(removed.values()), results)


def _check(entry: AccessControlEntry) -> None:
    reason: str | None = None
    if entry.resource_type not in _RESOURCE_TYPES:
        reason = f"Invalid resourceType {_name(ResourceType, entry.resource_type)}"
    elif entry.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        reason = f"Invalid patternType {_name(PatternType, entry.pattern_type)}"
    elif entry.operation not in _OPERATIONS:
        reason = f"Invalid operation {_name(Operation, entry.operation)}"
    elif entry.permission_type not in (PermissionType.ALLOW, PermissionType.DENY):
        reason = f"Invalid permissionType {_name(PermissionType, entry.permission_type)}"
    elif entry.resource_type == ResourceType.CLUSTER and entry.resource_name != CLUSTER_NAME:
        reason = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    elif not entry.resource_name:
        reason = "Resource name should not be empty"
    elif ":" not in entry.principal:
        reason = f"The principal {entry.principal!r} has no type: write it as User:name"
    if reason is not None:
        raise Refusal(ErrorCode.INVALID_REQUEST, reason)


def _check_filter(wanted: AclFilter) -> None:
    if not wanted.is_known:
        raise Refusal(ErrorCode.INVALID_REQUEST, UNKNOWN_FILTER)


def _refuse_too_many(record_count: int) -> None:
    if record_count > RECORDS_PER_DECISION_MAX:
        raise Refusal(
            ErrorCode.POLICY_VIOLATION,
            f"One request may change {RECORDS_PER_DECISION_MAX} ACLs: send several with fewer each",
        )


def _refuse_too_wide(comparisons: int, per_filter: int) -> None:
    """The first filter is always served."""
    if comparisons > max(_COMPARISONS_MAX, per_filter):
        raise Refusal(
            ErrorCode.POLICY_VIOLATION,
            f"One request may compare {_COMPARISONS_MAX} ACLs: send several with fewer filters, or filters that name "
            "one ACL each",
        )


def _name(kind: type[ResourceType | PatternType | Operation | PermissionType], number: int) -> str:
    try:
        return kind(number).name
    except ValueError:
        return kind.UNKNOWN.name


def _record(acl_id: bytes, entry: AccessControlEntry) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        pattern_type=entry.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )
