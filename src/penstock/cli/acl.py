"""`penstock acl …`: who may do what. See docs/acls.md."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import typer

from penstock.cli.acl_grants import (
    Grant,
    Whom,
    filters,
    grants,
    operation_of,
    pairs_of,
    resources_of,
)
from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    BootstrapServer,
    ClientSetting,
    admin_client,
    metadata_of,
    result_of,
)
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.output import AsJson, print_json, print_table

app = typer.Typer(help="List, add and remove ACLs: who may do what.", no_args_is_help=True)

Pattern = Literal["literal", "prefixed"]
FilterPattern = Literal["any", "match", "literal", "prefixed"]

_COLUMNS = ("resource", "name", "pattern", "principal", "host", "operation", "permission")
_KINDS = {"topic": "TOPIC", "group": "GROUP", "cluster": "BROKER", "transactional-id": "TRANSACTIONAL_ID"}
_WORDS = {name: kind for kind, name in _KINDS.items()}

Topics: list[str] = typer.Option([], "--topic", metavar="NAME", help="A topic; * is all. May be given again.")
Groups: list[str] = typer.Option([], "--group", metavar="NAME", help="A consumer group; * is all.")
Ids: list[str] = typer.Option([], "--transactional-id", metavar="NAME", help="A transactional id; * is all.")
Cluster: bool = typer.Option(False, "--cluster", help="The cluster itself.")
Operations: list[str] = typer.Option(
    [], "--operation", metavar="NAME", help="What is done to it, such as read. May be given again."
)
Allowed: list[str] = typer.Option(
    [], "--allow-principal", metavar="User:NAME", help="Who may; User:* is all."
)
Denied: list[str] = typer.Option(
    [], "--deny-principal", metavar="User:NAME", help="Who may not, whatever else is allowed."
)
AllowedHosts: list[str] = typer.Option([], "--allow-host", metavar="ADDRESS", help="Only from this address.")
DeniedHosts: list[str] = typer.Option([], "--deny-host", metavar="ADDRESS", help="Only from this address.")
Producer: bool = typer.Option(False, "--producer", help="All that a producer to the topic needs.")
Consumer: bool = typer.Option(
    False, "--consumer", help="All that a consumer of the topic in the group needs."
)
Idempotent: bool = typer.Option(False, "--idempotent", help="With --producer, for clusters before Kafka 2.8.")


@app.command("list")
def list_(
    *,
    principal: list[str] = typer.Option([], "--principal", metavar="User:NAME", help="Only of this user."),
    topic: list[str] = Topics,
    group: list[str] = Groups,
    transactional_id: list[str] = Ids,
    cluster: bool = Cluster,
    pattern: FilterPattern = typer.Option(
        "match",
        "--resource-pattern-type",
        help="match: all that apply to the name, also by prefix or *. any, literal, prefixed: those with the name.",
    ),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """List ACLs: all, or those of users and resources.

    For example:

      penstock acl list
      penstock acl list --topic orders
      penstock acl list --principal User:alice --json
    """
    resources = resources_of(topic, group, transactional_id, cluster=cluster)
    people: Sequence[str | None] = principal or [None]
    wanted = [
        msgspec.structs.replace(each, principal=who)
        for each in filters(Whom(), resources, [], pattern)
        for who in people
    ]
    admin = _connected(server, client)
    found: dict[tuple[str, ...], None] = {}
    for each in wanted:
        request = admin.describe_acls(_filter(each), request_timeout=REQUEST_TIMEOUT_SECONDS)
        bindings: Any = result_of(request, "cannot list ACLs")
        found.update(dict.fromkeys(map(_row, bindings)))
    rows = sorted(found)
    if as_json:
        print_json([dict(zip(_COLUMNS, row, strict=True)) for row in rows])
    elif rows:
        print_table(_COLUMNS, rows)
    else:
        _check_list_is_true(admin)
        print("no such ACLs" if principal or resources else "no ACLs; add one with `penstock acl add`")


def _check_list_is_true(admin: Any) -> None:
    """Librdkafka gives an empty list when the broker refuses to describe ACLs: tell which it is."""
    from confluent_kafka.admin import AclOperation, ConfigResource

    request = admin.describe_cluster(
        include_authorized_operations=True, request_timeout=REQUEST_TIMEOUT_SECONDS
    )
    cluster: Any = result_of(request, "cannot describe the cluster")
    if AclOperation.DESCRIBE not in (cluster.authorized_operations or ()):
        raise CommandError("cannot list ACLs: this user may not describe the cluster; ask who may")
    resource = ConfigResource("broker", str(cluster.nodes[0].id))
    request = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)[resource]
    settings: Any = {} if request.exception(REQUEST_TIMEOUT_SECONDS) else request.result()
    authorizer = settings.get("authorizer.class.name")
    if authorizer is not None and not authorizer.value:
        raise CommandError(
            "the brokers keep no ACLs: set authorizer.class.name to use them, see docs/acls.md"
        )


@app.command()
def add(
    *,
    allow_principal: list[str] = Allowed,
    deny_principal: list[str] = Denied,
    allow_host: list[str] = AllowedHosts,
    deny_host: list[str] = DeniedHosts,
    operation: list[str] = Operations,
    topic: list[str] = Topics,
    group: list[str] = Groups,
    transactional_id: list[str] = Ids,
    cluster: bool = Cluster,
    pattern: Pattern = typer.Option(
        "literal",
        "--resource-pattern-type",
        help="Whether a name is the whole name or what names begin with.",
    ),
    producer: bool = Producer,
    consumer: bool = Consumer,
    idempotent: bool = Idempotent,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Add ACLs. One that exists already stays as it is.

    For example:

      penstock acl add --allow-principal User:alice --operation read --topic orders
      penstock acl add --allow-principal User:billing --consumer --topic orders --group billing
      penstock acl add --allow-principal User:shop --producer --topic shop- --resource-pattern-type prefixed
      penstock acl add --deny-principal User:mallory --topic '*'
    """
    whom = Whom(
        allowed=allow_principal, denied=deny_principal, allowed_hosts=allow_host, denied_hosts=deny_host
    )
    pairs = pairs_of(
        resources_of(topic, group, transactional_id, cluster=cluster),
        [operation_of(each) for each in operation],
        producer=producer,
        consumer=consumer,
        idempotent=idempotent,
    )
    wanted = [_binding(each) for each in grants(whom, pairs, pattern)]
    admin = _connected(server, client)
    requests = admin.create_acls(wanted, request_timeout=REQUEST_TIMEOUT_SECONDS)
    for binding, future in requests.items():
        result_of(future, f"cannot add the ACL {_in_words(binding)}")
        print(f"added: {_in_words(binding)}")


@app.command()
def remove(
    *,
    allow_principal: list[str] = Allowed,
    deny_principal: list[str] = Denied,
    allow_host: list[str] = AllowedHosts,
    deny_host: list[str] = DeniedHosts,
    operation: list[str] = Operations,
    topic: list[str] = Topics,
    group: list[str] = Groups,
    transactional_id: list[str] = Ids,
    cluster: bool = Cluster,
    pattern: FilterPattern = typer.Option(
        "literal", "--resource-pattern-type", help="Which ACLs with the name; match: all that apply to it."
    ),
    producer: bool = Producer,
    consumer: bool = Consumer,
    idempotent: bool = Idempotent,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Remove the ACLs that all the options describe; what is not said may be anything.

    For example:

      penstock acl remove --allow-principal User:alice --topic orders
      penstock acl remove --topic shop- --resource-pattern-type prefixed
      penstock acl remove --allow-principal User:billing --consumer --topic orders --group billing
    """
    whom = Whom(
        allowed=allow_principal, denied=deny_principal, allowed_hosts=allow_host, denied_hosts=deny_host
    )
    resources = resources_of(topic, group, transactional_id, cluster=cluster)
    operations = [operation_of(each) for each in operation]
    if producer or consumer or idempotent:
        pairs = pairs_of(resources, operations, producer=producer, consumer=consumer, idempotent=idempotent)
        wanted = grants(whom, pairs, pattern)
    elif resources or whom.entries():
        wanted = filters(whom, resources, operations, pattern if resources else "any")
    else:
        raise CommandError("say which: name a principal or a resource", EXIT_USAGE)
    _remove(_connected(server, client), wanted)


def _remove(admin: Any, wanted: Sequence[Grant]) -> None:
    requests = admin.delete_acls([_filter(each) for each in wanted], request_timeout=REQUEST_TIMEOUT_SECONDS)
    removed: dict[tuple[str, ...], Any] = {}
    for future in requests.values():
        bindings: Any = result_of(future, "cannot remove ACLs")
        removed.update((_row(each), each) for each in bindings)
    for binding in removed.values():
        print(f"removed: {_in_words(binding)}")
    if not removed:
        raise CommandError("no ACL is like that; `penstock acl list` shows what there is")


def _connected(server: str, client: list[str]) -> Any:
    admin = admin_client(server, client)
    metadata_of(admin)  # first of all: it tells whether a broker answers
    return admin


def _binding(grant: Grant) -> Any:
    from confluent_kafka.admin import AclBinding

    return AclBinding(*_arguments(grant))


def _filter(grant: Grant) -> Any:
    from confluent_kafka.admin import AclBindingFilter

    return AclBindingFilter(*_arguments(grant))


def _arguments(grant: Grant) -> tuple[Any, ...]:
    from confluent_kafka.admin import AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    return (
        ResourceType[_KINDS[grant.kind] if grant.kind is not None else "ANY"],
        grant.name,
        ResourcePatternType[grant.pattern.upper()],
        grant.principal,
        grant.host,
        AclOperation[(grant.operation or "any").replace("-", "_").upper()],
        AclPermissionType[(grant.permission or "any").upper()],
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


def _in_words(binding: Any) -> str:
    kind, name, pattern, principal, host, operation, permission = _row(binding)
    where = "" if host == "*" else f" from {host}"
    deed = "do anything to" if operation == "all" else operation
    if pattern == "prefixed":
        what = f"{kind}s that begin with {name}"
    else:
        what = f"any {kind}" if name == "*" else f"{kind} {name}"
    return f"{principal}{where} {'may' if permission == 'allow' else 'may not'} {deed} {what}"
