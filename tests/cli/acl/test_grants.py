import pytest

from penstock.cli.acl.grants import (
    Grant,
    Principals,
    Resource,
    make_filters,
    make_grants,
    pair_operations,
    parse_operation,
    parse_resources,
)
from penstock.cli.errors import CommandError

ORDERS, BILLING = Resource("topic", "orders"), Resource("group", "billing")
ALICE = Principals(allowed=["User:alice"])


def of_clients(*resources: Resource, producer: bool = False, consumer: bool = False) -> list[tuple[str, str]]:
    pairs = pair_operations(resources, [], producer=producer, consumer=consumer, idempotent=False)
    return [(resource.name, operation) for resource, operation in pairs]


def test_operations_are_understood_as_kafka_writes_them_anywhere() -> None:
    assert parse_operation("Read") == "read"
    assert {parse_operation(w) for w in ("IdempotentWrite", "IDEMPOTENT_WRITE", "idempotent-write")} == {
        "idempotent-write"
    }
    with pytest.raises(CommandError, match="there is no operation steal: there are all, read"):
        parse_operation("steal")


def test_a_producer_and_a_consumer_get_what_they_need() -> None:
    assert of_clients(ORDERS, producer=True) == [
        ("orders", "write"),
        ("orders", "describe"),
        ("orders", "create"),
    ]
    assert of_clients(ORDERS, BILLING, consumer=True) == [
        ("orders", "read"),
        ("orders", "describe"),
        ("billing", "read"),
    ]
    assert of_clients(ORDERS, Resource("transactional-id", "t"), producer=True)[3:] == [
        ("t", "write"),
        ("t", "describe"),
    ]
    both = of_clients(ORDERS, BILLING, producer=True, consumer=True)
    assert both.count(("orders", "describe")) == 1


@pytest.mark.parametrize(
    ("resources", "options", "reason"),
    [
        ([], {"producer": True}, "--producer and --consumer need a --topic"),
        ([ORDERS], {"consumer": True}, "--consumer needs a --group"),
        ([ORDERS], {"idempotent": True}, "--idempotent goes with --producer"),
        ([], {}, "name a resource"),
    ],
)
def test_a_missing_option_is_named(resources: list[Resource], options: dict[str, bool], reason: str) -> None:
    chosen = {"producer": False, "consumer": False, "idempotent": False} | options
    with pytest.raises(CommandError, match=reason):
        pair_operations(resources, [], **chosen)


def test_operations_and_convenience_do_not_mix() -> None:
    with pytest.raises(CommandError, match="leave out --operation"):
        pair_operations([ORDERS], ["read"], producer=True, consumer=False, idempotent=False)


def test_everybody_gets_each_permission_from_each_host_and_the_cluster_stays_literal() -> None:
    whom = Principals(allowed=["User:a", "User:b"], allowed_hosts=["10.0.0.1", "10.0.0.2"], denied=["User:c"])
    pairs = [(ORDERS, "read"), (Resource("cluster", "kafka-cluster"), "describe")]
    found = make_grants(whom, pairs, "prefixed")
    assert len(found) == 10
    assert {(g.principal, g.host, g.permission) for g in found} == {
        *((f"User:{n}", f"10.0.0.{h}", "allow") for n in "ab" for h in (1, 2)),
        ("User:c", "*", "deny"),
    }
    assert {(g.kind, g.pattern) for g in found} == {("topic", "prefixed"), ("cluster", "literal")}
    with pytest.raises(CommandError, match="say who"):
        make_grants(Principals(), pairs, "literal")


def test_principals_have_types_and_hosts_have_principals() -> None:
    with pytest.raises(CommandError, match="'alice' is not a principal: write User:alice"):
        Principals(allowed=["alice"])
    with pytest.raises(CommandError, match="--allow-host needs --allow-principal"):
        Principals(allowed=["User:a"], denied_hosts=["10.0.0.1"])


def test_a_filter_matches_everything_that_is_not_given() -> None:
    (found,) = make_filters(ALICE, [ORDERS], [], "literal")
    assert found == Grant(
        kind="topic",
        name="orders",
        pattern="literal",
        principal="User:alice",
        host=None,
        operation=None,
        permission="allow",
    )
    (anything,) = make_filters(Principals(), [], [], "any")
    assert (anything.kind, anything.principal, anything.permission) == (None, None, None)
    assert (
        len(
            make_filters(
                ALICE, parse_resources(["a", "b"], ["g"], [], cluster=True), ["read", "write"], "any"
            )
        )
        == 8
    )
