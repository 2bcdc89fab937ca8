"""Translate the options of `penstock acl` to ACLs, or to filters that match them. Pure.

The options are those of Kafka's `kafka-acls.sh`: `--producer` and `--consumer` stand for what such a client needs.
"""

import itertools
from collections.abc import Sequence

import msgspec

from penstock.cli.errors import UsageError

CLUSTER_NAME = "kafka-cluster"
KINDS = ("topic", "group", "cluster", "transactional-id")
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
_PRODUCER = ("write", "describe", "create")
_CONSUMER = ("read", "describe")
_TRANSACTIONS = ("write", "describe")


class Resource(msgspec.Struct, frozen=True):
    kind: str
    name: str


class Grant(msgspec.Struct, frozen=True, kw_only=True):
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


def client_permissions(
    resources: Sequence[Resource], *, producer: bool, consumer: bool, idempotent: bool
) -> list[tuple[Resource, str]]:
    """List what a producer or a consumer of these resources needs; idempotent ones need more before Kafka 2.8."""
    kinds = {resource.kind for resource in resources}
    if (producer or consumer) and "topic" not in kinds:
        raise UsageError("--producer and --consumer need a --topic")
    if consumer and "group" not in kinds:
        raise UsageError("--consumer needs a --group")
    if idempotent and not producer:
        raise UsageError("--idempotent goes with --producer")
    needed = []
    for resource in resources:
        if resource.kind == "topic":
            operations = (*(_PRODUCER if producer else ()), *(_CONSUMER if consumer else ()))
        elif resource.kind == "group":
            operations = ("read",) if consumer else ()
        elif resource.kind == "transactional-id":
            operations = _TRANSACTIONS if producer else ()
        else:
            operations = ()
        needed += [(resource, operation) for operation in dict.fromkeys(operations)]
    if idempotent:
        needed.append((Resource("cluster", CLUSTER_NAME), "idempotent-write"))
    return needed


def pair_operations(
    resources: Sequence[Resource],
    operations: Sequence[str],
    *,
    producer: bool,
    consumer: bool,
    idempotent: bool,
) -> list[tuple[Resource, str]]:
    """Pair each resource with each of its operations."""
    if producer or consumer or idempotent:
        if operations:
            raise UsageError("--producer and --consumer imply the operations: leave out --operation")
        return client_permissions(resources, producer=producer, consumer=consumer, idempotent=idempotent)
    if not resources:
        raise UsageError("name a resource: --topic NAME, --group NAME, --transactional-id NAME or --cluster")
    return list(itertools.product(resources, operations or ["all"]))


def make_grants(principals: Principals, pairs: Sequence[tuple[Resource, str]], pattern: str) -> list[Grant]:
    """Make the ACLs of all principals, from any host unless one is given. The cluster has one name: it is literal."""
    if not principals.entries():
        raise UsageError("say who: --allow-principal User:NAME or --deny-principal User:NAME")
    grants = [_grant(*each, pattern) for each in itertools.product(pairs, principals.entries())]
    return [
        msgspec.structs.replace(
            each, host=each.host or "*", pattern="literal" if each.kind == "cluster" else pattern
        )
        for each in grants
    ]


def make_filters(
    principals: Principals, resources: Sequence[Resource], operations: Sequence[str], pattern: str
) -> list[Grant]:
    """Make filters; what is not given matches everything."""
    places: Sequence[Resource | None] = resources or [None]
    actions: Sequence[str | None] = operations or [None]
    entries: Sequence[tuple[str | None, str | None, str | None]]
    entries = principals.entries() or [(None, None, None)]
    pairs = itertools.product(places, actions)
    return [_grant(*each, pattern) for each in itertools.product(pairs, entries)]


def _grant(
    pair: tuple[Resource | None, str | None], entry: tuple[str | None, str | None, str | None], pattern: str
) -> Grant:
    (resource, operation), (principal, host, permission) = pair, entry
    return Grant(
        kind=None if resource is None else resource.kind,
        name=None if resource is None else resource.name,
        pattern=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission=permission,
    )
