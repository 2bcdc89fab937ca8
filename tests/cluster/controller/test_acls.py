import random

import msgspec
import pytest

from penstock.cluster.controller.acls import AclsDeleted, decide_create_acls, decide_delete_acls
from penstock.cluster.metadata import replay
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import AccessControlEntryRecord
from penstock.security.acl import AccessControlEntry, AclFilter, PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType
from tests.cluster.support import image_of
from tests.security.acl_support import acl

RANDOM = random.Random(7)
READ, WRITE = acl("alice", Operation.READ), acl("alice", Operation.WRITE)


def create(image: MetadataImage, *entries: AccessControlEntry) -> list[ErrorCode]:
    decision = decide_create_acls(image, entries, RANDOM)
    replay.apply(image, decision.records, image.offset + 1)
    return [each.error for each in decision.result]


def delete(image: MetadataImage, *filters: AclFilter) -> list[AclsDeleted]:
    decision = decide_delete_acls(image, filters)
    replay.apply(image, decision.records, image.offset + 1)
    return decision.result


def test_acls_are_created_once_each() -> None:
    image = image_of()
    assert create(image, READ, WRITE, READ) == [ErrorCode.NONE] * 3
    assert create(image, READ) == [ErrorCode.NONE]
    assert sorted(image.acls.values(), key=lambda e: e.operation) == [READ, WRITE]
    assert len(image.acls) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"resource_type": ResourceType.ANY}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"pattern_type": PatternType.MATCH}, "Invalid patternType MATCH"),
        ({"operation": Operation.ANY}, "Invalid operation ANY"),
        ({"operation": 0}, "Invalid operation UNKNOWN"),
        ({"permission_type": PermissionType.ANY}, "Invalid permissionType ANY"),
        ({"resource_name": ""}, "Resource name should not be empty"),
        (
            {"resource_type": ResourceType.CLUSTER},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        ({"principal": "alice"}, "The principal 'alice' has no type: write it as User:name"),
    ],
)
def test_an_invalid_acl_is_refused_and_the_others_are_created(change: dict[str, object], reason: str) -> None:
    image = image_of()
    decision = decide_create_acls(image, [msgspec.structs.replace(READ, **change), WRITE], RANDOM)
    refused, created = decision.result
    assert (refused.error, refused.message) == (ErrorCode.INVALID_REQUEST, reason)
    assert created.error is ErrorCode.NONE
    assert [r.operation for r in decision.records if isinstance(r, AccessControlEntryRecord)] == [
        WRITE.operation
    ]


def test_each_filter_gets_the_acls_that_it_matched_and_an_acl_is_removed_once() -> None:
    image = image_of()
    create(image, READ, WRITE)
    exact = AclFilter(**msgspec.structs.asdict(READ))
    by_exact, by_user, none = delete(
        image, exact, AclFilter(principal="User:alice"), AclFilter(principal="User:bob")
    )
    assert list(by_exact.entries) == [READ]
    assert set(by_user.entries) == {READ, WRITE}
    assert list(none.entries) == []
    assert image.acls == {}
    assert list(delete(image, exact)[0].entries) == []


def test_an_unknown_filter_is_refused_and_removes_nothing() -> None:
    image = image_of()
    create(image, READ)
    (refused,) = delete(image, AclFilter(operation=Operation.UNKNOWN))
    assert refused.error is ErrorCode.INVALID_REQUEST
    assert len(image.acls) == 1


def test_one_request_changes_at_most_as_many_acls_as_one_batch_of_the_log_holds() -> None:
    image = image_of()
    entries = [acl("alice", Operation.READ, f"t-{number}") for number in range(10_001)]
    codes = create(image, *entries)
    assert (codes[9_999], codes[10_000]) == (ErrorCode.NONE, ErrorCode.POLICY_VIOLATION)
    create(image, entries[10_000])
    too_many, one = delete(image, AclFilter(), AclFilter(resource_name="t-0"))
    assert (too_many.error, len(one.entries)) == (ErrorCode.POLICY_VIOLATION, 1)
    assert len(image.acls) == 10_000


def test_filters_that_would_scan_too_many_acls_are_refused_and_exact_ones_are_not() -> None:
    image = image_of()
    create(image, *(acl(f"user-{n}", Operation.READ) for n in range(1000)))
    wide = AclFilter(principal="User:nobody")
    exact = AclFilter(
        resource_type=READ.resource_type,
        resource_name=READ.resource_name,
        pattern_type=READ.pattern_type,
        principal=READ.principal,
        host=READ.host,
        operation=READ.operation,
        permission_type=READ.permission_type,
    )
    results = delete(image, *[wide] * 201, exact)
    assert [each.error for each in results] == [
        *[ErrorCode.NONE] * 200,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.NONE,
    ]
