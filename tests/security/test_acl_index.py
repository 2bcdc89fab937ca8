from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.security.acl import AccessControlEntry, AclFilter, PermissionType
from penstock.security.acl_index import AclIndex, comparable_host
from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType
from tests.security.acl_support import acl

HOST = "10.0.0.1"


def index_of(*entries: AccessControlEntry) -> AclIndex:
    index = AclIndex()
    for entry in entries:
        index.add(entry)
    return index


def verdict(
    index: AclIndex, who: str, operation: Operation, name: str = "orders", host: str = HOST
) -> bool | None:
    return index.verdict(f"User:{who}", host, operation, ResourceType.TOPIC, name)


deny = partial(acl, permission=PermissionType.DENY)


def test_a_permission_is_for_its_user_operation_and_resource_only() -> None:
    index = index_of(acl("alice", Operation.READ))
    assert verdict(index, "alice", Operation.READ) is True
    assert verdict(index, "alice", Operation.WRITE) is False
    assert verdict(index, "bob", Operation.READ) is False
    assert verdict(index, "alice", Operation.READ, "orders2") is None


def test_a_prefix_and_the_wildcard_apply_to_every_name_they_cover() -> None:
    index = index_of(
        acl("alice", Operation.READ, "ord", pattern_type=PatternType.PREFIXED),
        acl("bob", Operation.READ, "*"),
        acl("carol", Operation.READ, "*", pattern_type=PatternType.PREFIXED),
    )
    assert verdict(index, "alice", Operation.READ, "orders") is True
    assert verdict(index, "alice", Operation.READ, "ord") is True
    assert verdict(index, "alice", Operation.READ, "or") is False
    assert verdict(index, "bob", Operation.READ, "anything") is True
    assert verdict(index, "carol", Operation.READ, "anything") is False
    assert verdict(index, "carol", Operation.READ, "*thing") is True


@pytest.mark.parametrize(
    "denial",
    [
        deny("alice", Operation.READ),
        deny("alice", Operation.ALL),
        deny("alice", Operation.READ, "*"),
        deny("alice", Operation.READ, "o", pattern_type=PatternType.PREFIXED),
        deny("User:*", Operation.READ),
        deny("alice", Operation.READ, host=HOST),
    ],
)
def test_a_denial_overrides_every_permission(denial: AccessControlEntry) -> None:
    index = index_of(acl("alice", Operation.ALL), acl("User:*", Operation.ALL, "*"), denial)
    assert verdict(index, "alice", Operation.READ) is False


@pytest.mark.parametrize("operation", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_to_allow_an_operation_implies_to_describe_and_to_deny_it_does_not_deny_that(
    operation: Operation,
) -> None:
    assert verdict(index_of(acl("alice", operation)), "alice", Operation.DESCRIBE) is True
    denied = index_of(acl("alice", Operation.DESCRIBE), deny("alice", operation))
    assert verdict(denied, "alice", Operation.DESCRIBE) is True


def test_to_alter_settings_implies_to_describe_them_and_nothing_else_does() -> None:
    assert verdict(index_of(acl("a", Operation.ALTER_CONFIGS)), "a", Operation.DESCRIBE_CONFIGS) is True
    assert verdict(index_of(acl("a", Operation.ALTER)), "a", Operation.DESCRIBE_CONFIGS) is False
    assert verdict(index_of(acl("a", Operation.CREATE)), "a", Operation.DESCRIBE) is False


def test_a_host_is_one_address_in_any_notation_or_all() -> None:
    index = index_of(
        acl("alice", Operation.READ, host=HOST), acl("bob", Operation.READ, host="0:0:0:0:0:0:0:1")
    )
    assert verdict(index, "alice", Operation.READ) is True
    assert verdict(index, "alice", Operation.READ, host="10.0.0.2") is False
    assert verdict(index, "bob", Operation.READ, host=comparable_host("::1")) is True
    assert comparable_host("::ffff:10.0.0.1") == HOST
    assert comparable_host("fe80::1%eth0") == "fe80::1"
    assert comparable_host("no:address") == "no:address"


def some(*entries: AccessControlEntry) -> bool:
    return index_of(*entries).allows_some("User:alice", HOST, Operation.WRITE, ResourceType.TOPIC)


def test_some_resource_is_allowed_unless_denials_cover_every_permission() -> None:
    write = Operation.WRITE
    prefix = PatternType.PREFIXED
    assert not some()
    assert not some(acl("bob", write), acl("alice", Operation.READ))
    assert some(acl("alice", write))
    assert some(acl("alice", Operation.ALL, "*"))
    assert some(acl("alice", write, "ord", pattern_type=prefix))
    assert not some(acl("alice", write), deny("alice", write, "*"))
    assert not some(acl("alice", write), deny("alice", write))
    assert not some(acl("alice", write), deny("alice", write, "ord", pattern_type=prefix))
    assert not some(
        acl("alice", write, "orders", pattern_type=prefix), deny("alice", write, "ord", pattern_type=prefix)
    )
    assert some(
        acl("alice", write, "ord", pattern_type=prefix), deny("alice", write, "orders", pattern_type=prefix)
    )
    assert some(acl("alice", write, "*"), deny("alice", write))
    assert not index_of(acl("alice", write)).allows_some("User:alice", HOST, write, ResourceType.GROUP)


entries = st.builds(
    acl,
    st.sampled_from(["alice", "bob", "User:*"]),
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALL, Operation.DESCRIBE]),
    st.sampled_from(["*", "o", "or", "ord", "orders"]),
    resource_type=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    permission=st.sampled_from([PermissionType.ALLOW, PermissionType.DENY]),
    host=st.sampled_from(["*", HOST, "10.0.0.2"]),
)


def judged_one_by_one(
    acls: Sequence[AccessControlEntry], who: str, operation: Operation, name: str
) -> bool | None:
    """The rules of Kafka's documentation, applied to every ACL."""
    wanted = AclFilter(resource_type=ResourceType.TOPIC, resource_name=name, pattern_type=PatternType.MATCH)
    about = [each for each in acls if wanted.matches(each)]
    for_us = [e for e in about if e.principal in (f"User:{who}", "User:*") and e.host in ("*", HOST)]
    denials = [e for e in for_us if e.permission_type == PermissionType.DENY]
    if any(e.operation in (operation, Operation.ALL) for e in denials):
        return False
    implying = {operation, Operation.ALL}
    if operation == Operation.DESCRIBE:
        implying |= {Operation.READ, Operation.WRITE}
    if any(e.operation in implying for e in for_us if e not in denials):
        return True
    return False if about else None


@given(
    st.lists(entries, max_size=8, unique=True),
    st.lists(st.integers(0, 7), max_size=8),
    st.sampled_from(["alice", "bob"]),
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.DESCRIBE]),
    st.sampled_from(["o", "or", "orders", "other", "x"]),
)
def test_the_index_decides_like_a_scan_of_every_acl_also_after_removals(
    acls: list[AccessControlEntry], removals: list[int], who: str, operation: Operation, name: str
) -> None:
    index = index_of(*acls)
    for number in removals:
        if number < len(acls):
            index.remove(acls.pop(number))
    assert verdict(index, who, operation, name) is judged_one_by_one(acls, who, operation, name)
    assert len(index) == len(acls)
