import logging

import pytest

from penstock.security.acl import PermissionType
from penstock.security.acl_authorizer import AclAuthorizer, parse_super_users
from penstock.security.operations import Operation
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.resources import ResourceType
from tests.security.acl_support import acl

ALICE = Principal("alice")
HOST = "127.0.0.1"
FIRST, SECOND = b"1" * 16, b"2" * 16


def may(authorizer: AclAuthorizer, who: Principal = ALICE, operation: Operation = Operation.READ) -> bool:
    return authorizer.allows(who, HOST, operation, ResourceType.TOPIC, "orders")


def test_nothing_is_allowed_without_an_acl_and_a_change_applies_at_once() -> None:
    authorizer = AclAuthorizer()
    acls = {FIRST: acl("alice", Operation.READ)}
    assert not may(authorizer)
    authorizer.follow(acls, [FIRST])
    assert may(authorizer)
    acls[SECOND] = acl("alice", Operation.READ, permission=PermissionType.DENY)
    authorizer.follow(acls, [SECOND])
    assert not may(authorizer)
    acls.clear()
    authorizer.follow(acls, [FIRST, SECOND])
    assert not may(authorizer)
    assert not authorizer.allows_some(ALICE, HOST, Operation.READ, ResourceType.TOPIC)


def test_super_users_may_do_anything_despite_acls() -> None:
    authorizer = AclAuthorizer(super_users=[ALICE])
    authorizer.follow({FIRST: acl("User:*", Operation.ALL, "*", permission=PermissionType.DENY)}, [FIRST])
    assert may(authorizer)
    assert authorizer.allows_some(ALICE, HOST, Operation.WRITE, ResourceType.TOPIC)
    assert not may(authorizer, Principal("alice", "Group"))
    assert not may(authorizer, ANONYMOUS)


def test_a_resource_without_acls_is_open_to_all_if_the_setting_allows_it() -> None:
    authorizer = AclAuthorizer(allow_everyone_if_no_acl_found=True)
    assert may(authorizer)
    assert authorizer.allows_some(ALICE, HOST, Operation.WRITE, ResourceType.TOPIC)
    authorizer.follow({FIRST: acl("bob", Operation.READ)}, [FIRST])
    assert not may(authorizer)
    assert authorizer.allows(ALICE, HOST, Operation.READ, ResourceType.TOPIC, "another")


def test_a_decision_for_any_resource_is_cached_until_a_change() -> None:
    authorizer = AclAuthorizer()
    acls = {FIRST: acl("alice", Operation.WRITE)}
    assert not authorizer.allows_some(ALICE, HOST, Operation.WRITE, ResourceType.TOPIC)
    authorizer.follow(acls, [FIRST])
    for _ in range(2):
        assert authorizer.allows_some(ALICE, HOST, Operation.WRITE, ResourceType.TOPIC)


def test_more_requests_than_fit_in_the_cache_are_answered() -> None:
    authorizer = AclAuthorizer()
    authorizer.follow({FIRST: acl("alice", Operation.READ, "t-7")}, [FIRST])
    answers = [
        authorizer.allows(ALICE, HOST, Operation.READ, ResourceType.TOPIC, f"t-{number}")
        for number in range(10_100)
    ]
    assert [number for number, answer in enumerate(answers) if answer] == [7]
    assert len(authorizer._cache) <= 10_000


def test_long_names_are_answered_and_not_cached() -> None:
    authorizer = AclAuthorizer(allow_everyone_if_no_acl_found=True)
    for number in range(10):
        name = f"{number}" * 30_000
        assert authorizer.allows(ALICE, HOST, Operation.READ, ResourceType.GROUP, name)
    assert not authorizer._cache


def test_a_new_decision_is_logged_once_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    authorizer = AclAuthorizer()
    with caplog.at_level(logging.DEBUG, "penstock.security.acl_authorizer"):
        may(authorizer)
        may(authorizer)
    assert [r.getMessage() for r in caplog.records] == [
        "Denied an operation. principal=User:alice host=127.0.0.1 operation=READ resource=TOPIC:orders"
    ]


def test_super_users_are_written_with_semicolons_because_names_may_have_commas() -> None:
    assert parse_super_users(" User:CN=a,O=b ; User:bob;;") == [Principal("CN=a,O=b"), Principal("bob")]
    assert parse_super_users("") == []
    with pytest.raises(ValueError, match="write each user as User:name"):
        parse_super_users("bob")
