"""`penstock acl …`: list, add and remove ACLs. See docs/acls.md."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import typer

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
from penstock.cli.connect.librdkafka import REQUEST_TIMEOUT_S, wait_for
from penstock.cli.connect.target import Target, connects
from penstock.cli.errors import CommandError, UsageError
from penstock.cli.options import takes
from penstock.cli.output import AsJson, print_result

app = typer.Typer(help="List, add and remove ACLs.", no_args_is_help=True)

Pattern = Literal["literal", "prefixed"]
FilterPattern = Literal["any", "match", "literal", "prefixed"]

_COLUMNS = ("resource", "name", "pattern", "principal", "host", "operation", "permission")
_KINDS = {"topic": "TOPIC", "group": "GROUP", "cluster": "BROKER", "transactional-id": "TRANSACTIONAL_ID"}
_WORDS = {name: kind for kind, name in _KINDS.items()}


class ResourceOptions(msgspec.Struct, frozen=True, kw_only=True):
    topic: list[str] = typer.Option(
        [], metavar="TOPIC", help="Topic the ACL applies to; * is all (repeatable)."
    )
    group: list[str] = typer.Option(
        [], metavar="GROUP", help="Group the ACL applies to; * is all (repeatable)."
    )
    transactional_id: list[str] = typer.Option(
        [], metavar="ID", help="Transactional id the ACL applies to; * is all (repeatable)."
    )
    cluster: bool = typer.Option(False, "--cluster", help="The ACL applies to the cluster.")

    @property
    def resources(self) -> list[Resource]:
        return parse_resources(self.topic, self.group, self.transactional_id, cluster=self.cluster)


class GrantOptions(msgspec.Struct, frozen=True, kw_only=True):
    allow_principal: list[str] = typer.Option(
        [], metavar="User:NAME", help="Allow this principal; User:* is all (repeatable)."
    )
    deny_principal: list[str] = typer.Option(
        [], metavar="User:NAME", help="Deny this principal; deny overrides allow (repeatable)."
    )
    allow_host: list[str] = typer.Option(
        [], metavar="HOST", help="Restrict the allow rule to this host (repeatable)."
    )
    deny_host: list[str] = typer.Option(
        [], metavar="HOST", help="Restrict the deny rule to this host (repeatable)."
    )
    operation: list[str] = typer.Option(
        [], metavar="OPERATION", help="Operation to allow or deny, such as read (repeatable)."
    )
    producer: bool = typer.Option(
        False, "--producer", help="Shortcut: grant everything a producer needs on --topic."
    )
    consumer: bool = typer.Option(
        False, "--consumer", help="Shortcut: grant everything a consumer needs on --topic and --group."
    )
    idempotent: bool = typer.Option(
        False, "--idempotent", help="Allow idempotent writes, with --producer, on clusters before Kafka 2.8."
    )

    @property
    def principals(self) -> Principals:
        return Principals(
            allowed=self.allow_principal,
            denied=self.deny_principal,
            allowed_hosts=self.allow_host,
            denied_hosts=self.deny_host,
        )

    @property
    def operations(self) -> list[str]:
        return [parse_operation(each) for each in self.operation]

    def grants(self, resources: list[Resource], pattern: str) -> list[Grant]:
        clients = {"producer": self.producer, "consumer": self.consumer, "idempotent": self.idempotent}
        return make_grants(self.principals, pair_operations(resources, self.operations, **clients), pattern)


@app.command("list")
@connects
@takes(ResourceOptions)
def list_(
    given: ResourceOptions,
    target: Target,
    *,
    principal: list[str] = typer.Option(
        [], "--principal", metavar="User:NAME", help="List only ACLs of this principal (repeatable)."
    ),
    pattern: FilterPattern = typer.Option(
        "match",
        "--resource-pattern-type",
        help="match: ACLs that apply to the name, also by prefix or *. any, literal, prefixed: exactly that name.",
    ),
    as_json: bool = AsJson,
) -> None:
    """List ACLs: all, or those of users and resources.

    For example:

      penstock acl list
      penstock acl list --topic orders
      penstock acl list --principal User:alice --json
    """
    resources = given.resources
    people: Sequence[str | None] = principal or [None]
    wanted = [
        msgspec.structs.replace(each, principal=who)
        for each in make_filters(Principals(), resources, [], pattern)
        for who in people
    ]
    admin = target.admin()
    found: dict[tuple[str, ...], None] = {}
    for each in wanted:
        request = admin.describe_acls(_binding(each, is_filter=True))
        bindings: Any = wait_for(request, "cannot list ACLs")
        found.update(dict.fromkeys(map(_row, bindings)))
    rows = sorted(found)
    if not rows and not as_json:
        _check_permission(admin)
    print_result(
        [dict(zip(_COLUMNS, row, strict=True)) for row in rows],
        _COLUMNS,
        rows,
        as_json=as_json,
        empty="no such ACLs" if principal or resources else "no ACLs; add one with `penstock acl add`",
    )


def _check_permission(admin: Any) -> None:
    """Raise the reason for an empty list: librdkafka gives one also when the broker refuses to describe ACLs."""
    from confluent_kafka.admin import AclOperation, ConfigResource

    request = admin.describe_cluster(include_authorized_operations=True)
    cluster: Any = wait_for(request, "cannot describe the cluster")
    if AclOperation.DESCRIBE not in (cluster.authorized_operations or ()):
        raise CommandError(
            "cannot list ACLs: this user may not describe the cluster. Use another user, or have it allowed with "
            "`penstock acl add --allow-principal User:NAME --operation describe --cluster`"
        )
    resource = ConfigResource("broker", str(cluster.nodes[0].id))
    request = admin.describe_configs([resource])[resource]
    settings: Any = {} if request.exception(REQUEST_TIMEOUT_S) else request.result()
    authorizer = settings.get("authorizer.class.name")
    if authorizer is not None and not authorizer.value:
        raise CommandError(
            "the brokers have no ACLs: set authorizer.class.name to use them, see docs/acls.md"
        )


@app.command()
@connects
@takes(ResourceOptions)
@takes(GrantOptions)
def add(
    options: GrantOptions,
    matched: ResourceOptions,
    target: Target,
    *,
    pattern: Pattern = typer.Option(
        "literal",
        "--resource-pattern-type",
        help="literal: exact names. prefixed: name prefixes.",
    ),
) -> None:
    r"""Add ACLs. Existing ACLs are unchanged.

    For example:

      penstock acl add --allow-principal User:alice --operation read \
        --topic orders
      penstock acl add --allow-principal User:billing --consumer \
        --topic orders --group billing
      penstock acl add --allow-principal User:shop --producer \
        --topic shop- --resource-pattern-type prefixed
      penstock acl add --deny-principal User:mallory --topic '*'
    """
    wanted = [_binding(each) for each in options.grants(matched.resources, pattern)]
    admin = target.admin()
    requests = admin.create_acls(wanted)
    for binding, future in requests.items():
        wait_for(future, f"cannot add the ACL {_describe(binding)}")
        print(f"added: {_describe(binding)}")


@app.command()
@connects
@takes(ResourceOptions)
@takes(GrantOptions)
def remove(
    options: GrantOptions,
    matched: ResourceOptions,
    target: Target,
    *,
    pattern: FilterPattern = typer.Option(
        "literal",
        "--resource-pattern-type",
        help="any, literal, prefixed: ACLs of exactly that name. match: ACLs that apply to it.",
    ),
) -> None:
    r"""Remove the ACLs that match all given options.

    For example:

      penstock acl remove --allow-principal User:alice --topic orders
      penstock acl remove --topic shop- --resource-pattern-type prefixed
      penstock acl remove --allow-principal User:billing --consumer \
        --topic orders --group billing
    """
    resources = matched.resources
    if options.producer or options.consumer or options.idempotent:
        wanted = options.grants(resources, pattern)
    elif resources or options.principals.entries():
        wanted = make_filters(
            options.principals, resources, options.operations, pattern if resources else "any"
        )
    else:
        raise UsageError("say which ACLs: name a principal or a resource")
    _remove(target.admin(), wanted)


def _remove(admin: Any, wanted: Sequence[Grant]) -> None:
    requests = admin.delete_acls([_binding(each, is_filter=True) for each in wanted])
    removed: dict[tuple[str, ...], Any] = {}
    for future in requests.values():
        bindings: Any = wait_for(future, "cannot remove ACLs")
        removed.update((_row(each), each) for each in bindings)
    for binding in removed.values():
        print(f"removed: {_describe(binding)}")
    if not removed:
        raise CommandError("no ACL matches; `penstock acl list` lists them")


def _binding(grant: Grant, *, is_filter: bool = False) -> Any:
    from confluent_kafka import admin

    kind = admin.AclBindingFilter if is_filter else admin.AclBinding
    return kind(
        admin.ResourceType[_KINDS[grant.kind] if grant.kind is not None else "ANY"],
        grant.name,
        admin.ResourcePatternType[grant.pattern.upper()],
        grant.principal,
        grant.host,
        admin.AclOperation[(grant.operation or "any").replace("-", "_").upper()],
        admin.AclPermissionType[(grant.permission or "any").upper()],
    )


def _row(binding: Any) -> tuple[str, ...]:
    return (
        _WORDS.get(binding.restype.name, binding.restype.name.lower()),
        binding.name,
        binding.resource_pattern_type.name.lower(),
        binding.principal,
        binding.host,
        binding.operation.name.lower().replace("_", "-"),
        binding.permission_type.name.lower(),
    )


def _describe(binding: Any) -> str:
    kind, name, pattern, principal, host, operation, permission = _row(binding)
    where = "" if host == "*" else f" from {host}"
    action = "do anything to" if operation == "all" else operation
    if pattern == "prefixed":
        what = f"{kind}s that begin with {name}"
    else:
        what = f"any {kind}" if name == "*" else f"{kind} {name}"
    return f"{principal}{where} {'may' if permission == 'allow' else 'may not'} {action} {what}"
