"""Translate the options of `penstock acl` to ACLs, or to filters that match them. Pure.

The options are those of Kafka's `kafka-acls.sh`: `--producer` and `--consumer` stand for what such a client needs.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.cli.errors import UsageError

CLUSTER_NAME = "kafka-cluster"
OPERATIONS = (
    "all",
    "read",
    "write",
    "create",
    "delete",
    "alter",
    "describe",
    "cluster-action",
    "describe-configs",
    "alter-configs",
    "idempotent-write",
)
_BY_LETTERS = {operation.replace("-", ""): operation for operation in OPERATIONS}
# What a client needs of a resource, by its kind.
_NEEDED: dict[str, dict[str, tuple[str, ...]]] = {
    "topic": {"producer": ("write", "describe", "create"), "consumer": ("read", "describe")},
    "group": {"consumer": ("read",)},
    "transactional-id": {"producer": ("write", "describe")},
}


class Resource(NamedTuple):
    kind: str
    name: str


class Grant(msgspec.Struct, frozen=True):
    """One ACL; in a filter, None matches everything."""

    kind: str | None
    name: str | None
    pattern: str
    principal: str | None
    host: str | None
    operation: str | None
    permission: str | None


class Principals(msgspec.Struct, frozen=True, kw_only=True):
    """The principals that are allowed or denied, and their hosts."""

    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    denied_hosts: Sequence[str] = ()

    def __post_init__(self) -> None:
        for principal in (*self.allowed, *self.denied):
            if ":" not in principal:
                raise UsageError(f"{principal!r} is not a principal: write User:{principal}")
        if (self.allowed_hosts and not self.allowed) or (self.denied_hosts and not self.denied):
            raise UsageError("--allow-host needs --allow-principal, and --deny-host needs --deny-principal")

    def entries(self) -> list[tuple[str, str | None, str]]:
        """List principal, host and permission of each; None without a host."""
        found: list[tuple[str, str | None, str]] = []
        for permission, principals, named in (
            ("allow", self.allowed, self.allowed_hosts),
            ("deny", self.denied, self.denied_hosts),
        ):
            hosts: Sequence[str | None] = named or [None]
            found += [(principal, host, permission) for principal in principals for host in hosts]
        return found


def parse_operation(word: str) -> str:
    """Parse `Read`, `IdempotentWrite` or `idempotent-write`, as Kafka's tools and documentation write them."""
    found = _BY_LETTERS.get(word.lower().replace("-", "").replace("_", ""))
    if found is None:
        raise UsageError(f"there is no operation {word}: there are {', '.join(OPERATIONS)}")
    return found


def parse_resources(
    topics: Sequence[str], groups: Sequence[str], transactional_ids: Sequence[str], *, cluster: bool
) -> list[Resource]:
    return [
        *(Resource("topic", name) for name in topics),
        *(Resource("group", name) for name in groups),
        *(Resource("transactional-id", name) for name in transactional_ids),
        *([Resource("cluster", CLUSTER_NAME)] if cluster else []),
    ]


def pair_operations(
    resources: Sequence[Resource],
    operations: Sequence[str],
    *,
    producer: bool,
    consumer: bool,
    idempotent: bool,
) -> list[tuple[Resource, str]]:
    """Pair each resource with the operations, or with what a producer or a consumer needs.

    Idempotent producers need more before Kafka 2.8.
    """
    kinds = {resource.kind for resource in resources}
    if not (producer or consumer or idempotent):
        if not resources:
            raise UsageError(
                "name a resource: --topic NAME, --group NAME, --transactional-id NAME or --cluster"
            )
        return list(itertools.product(resources, operations or ["all"]))
    if operations:
        raise UsageError("--producer and --consumer imply the operations: leave out --operation")
    if (producer or consumer) and "topic" not in kinds:
        raise UsageError("--producer and --consumer need a --topic")
    if consumer and "group" not in kinds:
        raise UsageError("--consumer needs a --group")
    if idempotent and not producer:
        raise UsageError("--idempotent goes with --producer")
    clients = [name for name, is_given in (("producer", producer), ("consumer", consumer)) if is_given]
    needed = {
        (resource, operation): None
        for resource in resources
        for client in clients
        for operation in _NEEDED.get(resource.kind, {}).get(client, ())
    }
    more = [(Resource("cluster", CLUSTER_NAME), "idempotent-write")] if idempotent else []
    return [*needed, *more]


def make_grants(principals: Principals, pairs: Sequence[tuple[Resource, str]], pattern: str) -> list[Grant]:
    """Make the ACLs of all principals, from any host unless one is given. The cluster has one name: it is literal."""
    if not principals.entries():
        raise UsageError("say who: --allow-principal User:NAME or --deny-principal User:NAME")
    return [
        Grant(
            kind, name, "literal" if kind == "cluster" else pattern, who, host or "*", operation, permission
        )
        for ((kind, name), operation), (who, host, permission) in itertools.product(
            pairs, principals.entries()
        )
    ]


def make_filters(
    principals: Principals, resources: Sequence[Resource], operations: Sequence[str], pattern: str
) -> list[Grant]:
    """Make filters; what is not given matches everything."""
    places: Sequence[tuple[str | None, str | None]] = resources or [(None, None)]
    actions: Sequence[str | None] = operations or [None]
    entries: Sequence[tuple[str | None, str | None, str | None]]
    entries = principals.entries() or [(None, None, None)]
    return [
        Grant(kind, name, pattern, who, host, operation, permission)
        for (kind, name), operation, (who, host, permission) in itertools.product(places, actions, entries)
    ]
