import msgspec
import pytest

from penstock.security.acl import AclFilter, PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType
from tests.security.acl_support import acl

LITERAL = acl("alice", Operation.READ)
PREFIXED = acl("alice", Operation.READ, "ord", pattern_type=PatternType.PREFIXED)
WILDCARD = acl("bob", Operation.WRITE, "*")
GROUP = acl("bob", Operation.READ, "orders", resource_type=ResourceType.GROUP, host="10.0.0.1")
DENIED = acl("alice", Operation.READ, "secret", permission=PermissionType.DENY)
ALL = [LITERAL, PREFIXED, WILDCARD, GROUP, DENIED]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclFilter(), ALL),
        (AclFilter(principal="User:bob"), [WILDCARD, GROUP]),
        (AclFilter(host="10.0.0.1"), [GROUP]),
        (AclFilter(operation=Operation.WRITE), [WILDCARD]),
        (AclFilter(permission_type=PermissionType.DENY), [DENIED]),
        (AclFilter(resource_type=ResourceType.GROUP), [GROUP]),
        (AclFilter(pattern_type=PatternType.PREFIXED), [PREFIXED]),
        (AclFilter(resource_name="orders"), [LITERAL, GROUP]),
        (AclFilter(resource_name="orders", pattern_type=PatternType.PREFIXED), []),
        (AclFilter(resource_name="*", pattern_type=PatternType.LITERAL), [WILDCARD]),
        (AclFilter(pattern_type=PatternType.MATCH), ALL),
        (
            AclFilter(
                resource_name="orders", pattern_type=PatternType.MATCH, resource_type=ResourceType.TOPIC
            ),
            [LITERAL, PREFIXED, WILDCARD],
        ),
    ],
)
def test_a_filter_finds_exact_acls_and_with_match_all_that_apply_to_a_resource(
    wanted: AclFilter, found: list[object]
) -> None:
    assert [entry for entry in ALL if wanted.matches(entry)] == found


def test_a_fully_specified_filter_has_one_possible_match() -> None:
    exact = AclFilter(**msgspec.structs.asdict(LITERAL))
    assert exact.only_match() == LITERAL
    for vague in (
        {"resource_name": None},
        {"host": None},
        {"operation": Operation.ANY},
        {"pattern_type": PatternType.MATCH},
    ):
        assert msgspec.structs.replace(exact, **vague).only_match() is None


@pytest.mark.parametrize("field", ["resource_type", "pattern_type", "operation", "permission_type"])
def test_a_filter_with_an_unknown_number_is_invalid(field: str) -> None:
    assert AclFilter().is_known
    assert not msgspec.structs.replace(AclFilter(), **{field: 0}).is_known
    assert not msgspec.structs.replace(AclFilter(), **{field: 99}).is_known
