"""What the options of `penstock acl` mean: the ACLs that are to be, or filters that find them.

Pure. The words are those of Kafka's `kafka-acls.sh`: `--producer` and `--consumer` stand for what such a client needs.
"""

import itertools
from collections.abc import Sequence

import msgspec

from penstock.cli.errors import EXIT_USAGE, CommandError

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
    """One ACL in words; in a filter, None is anything."""

    kind: str | None
    name: str | None
    pattern: str
    principal: str | None
    host: str | None
    operation: str | None
    permission: str | None


class Whom(msgspec.Struct, frozen=True, kw_only=True):
    """Who is allowed or denied, and from where."""

    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    denied_hosts: Sequence[str] = ()

    def __post_init__(self) -> None:
        for principal in (*self.allowed, *self.denied):
            if ":" not in principal:
                raise CommandError(f"{principal!r} is not a principal: write User:{principal}", EXIT_USAGE)
        if (self.allowed_hosts and not self.allowed) or (self.denied_hosts and not self.denied):
            raise CommandError("a host goes with the principal that comes from it", EXIT_USAGE)

    def entries(self) -> list[tuple[str, str | None, str]]:
        """Principal, host and permission of each; None where no host is named."""
        found: list[tuple[str, str | None, str]] = []
        for permission, principals, named in (
            ("allow", self.allowed, self.allowed_hosts),
            ("deny", self.denied, self.denied_hosts),
        ):
            hosts: Sequence[str | None] = named or [None]
            found += [(principal, host, permission) for principal in principals for host in hosts]
        return found


def operation_of(word: str) -> str:
    """`Read`, `IdempotentWrite` or `idempotent-write`, as Kafka's tools and documentation write them."""
    found = _BY_LETTERS.get(word.lower().replace("-", "").replace("_", ""))
    if found is None:
        raise CommandError(f"there is no operation {word}: there are {', '.join(OPERATIONS)}", EXIT_USAGE)
    return found


def resources_of(
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
    """What a producer or a consumer of these resources needs; idempotent ones as brokers before 2.8 asked it."""
    kinds = {resource.kind for resource in resources}
    if (producer or consumer) and "topic" not in kinds:
        raise CommandError("--producer and --consumer need a --topic", EXIT_USAGE)
    if consumer and "group" not in kinds:
        raise CommandError("--consumer needs a --group", EXIT_USAGE)
    if idempotent and not producer:
        raise CommandError("--idempotent goes with --producer", EXIT_USAGE)
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


def pairs_of(
    resources: Sequence[Resource],
    operations: Sequence[str],
    *,
    producer: bool,
    consumer: bool,
    idempotent: bool,
) -> list[tuple[Resource, str]]:
    """Each resource with each operation that is meant for it."""
    if producer or consumer or idempotent:
        if operations:
            raise CommandError(
                "--producer and --consumer name the operations: leave --operation out", EXIT_USAGE
            )
        return client_permissions(resources, producer=producer, consumer=consumer, idempotent=idempotent)
    if not resources:
        raise CommandError(
            "name a resource: --topic NAME, --group NAME, --transactional-id NAME or --cluster", EXIT_USAGE
        )
    return list(itertools.product(resources, operations or ["all"]))


def grants(whom: Whom, pairs: Sequence[tuple[Resource, str]], pattern: str) -> list[Grant]:
    """The ACLs for everybody named. The cluster has one name, so its ACLs are literal."""
    entries = whom.entries()
    if not entries:
        raise CommandError("say who: --allow-principal User:NAME or --deny-principal User:NAME", EXIT_USAGE)
    return [
        Grant(
            kind=resource.kind,
            name=resource.name,
            pattern="literal" if resource.kind == "cluster" else pattern,
            principal=principal,
            host="*" if host is None else host,
            operation=operation,
            permission=permission,
        )
        for resource, operation in pairs
        for principal, host, permission in entries
    ]


def filters(
    whom: Whom, resources: Sequence[Resource], operations: Sequence[str], pattern: str
) -> list[Grant]:
    """Filters for what is named; what is not named is anything."""
    places: Sequence[Resource | None] = resources or [None]
    deeds: Sequence[str | None] = operations or [None]
    people: Sequence[tuple[str | None, str | None, str | None]] = whom.entries() or [(None, None, None)]
    return [
        Grant(
            kind=None if place is None else place.kind,
            name=None if place is None else place.name,
            pattern=pattern,
            principal=principal,
            host=host,
            operation=deed,
            permission=permission,
        )
        for place in places
        for deed in deeds
        for principal, host, permission in people
    ]
