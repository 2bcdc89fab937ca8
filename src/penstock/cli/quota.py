"""`penstock quota …`: see, set and remove what users, clients and addresses may use (KIP-546)."""

from collections.abc import Mapping

import typer

from penstock.cli.cluster_facts import Operator
from penstock.cli.connection import BootstrapServer, ClientSetting
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.output import AsJson, print_json, print_table
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_client_quotas as altering
from penstock.protocol.messages import describe_client_quotas as describing
from penstock.security.quotas import entities

app = typer.Typer(help="See, set and remove quotas of users, client ids and addresses.", no_args_is_help=True)

DEFAULT = "<default>"
_KEYS = {
    "produce": entities.PRODUCER_BYTE_RATE,
    "fetch": entities.CONSUMER_BYTE_RATE,
    "request": entities.REQUEST_PERCENTAGE,
    "mutation": entities.CONTROLLER_MUTATION_RATE,
    "connection": entities.CONNECTION_CREATION_RATE,
}

_User: str | None = typer.Option(None, "--user", metavar="NAME", help=f"Of a user; {DEFAULT} of all others.")
_Client: str | None = typer.Option(
    None, "--client", metavar="ID", help=f"Of a client id; {DEFAULT} of all others."
)
_Ip: str | None = typer.Option(
    None, "--ip", metavar="ADDRESS", help=f"Of an address; {DEFAULT} of all others."
)


@app.command("list")
def list_(
    *, as_json: bool = AsJson, server: str = BootstrapServer, client: list[str] = ClientSetting
) -> None:
    """Show every quota."""
    operator = Operator(server, client)
    try:
        answer = operator.ask(describing.API_KEY, describing.DescribeClientQuotasRequest())
    finally:
        operator.close()
    found = [
        (
            {each.entity_type: each.entity_name for each in entry.entity},
            {v.key: v.value for v in entry.values},
        )
        for entry in answer.entries or ()
    ]
    if as_json:
        print_json([{"entity": entity, "quotas": values} for entity, values in found])
        return
    rows = [
        (_named(entity), key, _number(value)) for entity, values in found for key, value in values.items()
    ]
    print_table(("of", "quota", "limit"), rows)


@app.command("set")
def set_(
    limits: list[str] = typer.Argument(metavar="KEY=VALUE…", help="Quotas by Kafka's names, or in short."),
    *,
    user: str | None = _User,
    client_id: str | None = _Client,
    ip: str | None = _Ip,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Limit bytes a second, request time in percent, partitions made or deleted a second, connections a second.

    The names are Kafka's: producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate,
    connection_creation_rate; in short produce, fetch, request, mutation, connection.

    For example:

      penstock quota set produce=1048576 fetch=2097152 --user alice
      penstock quota set request=50 --user '<default>' --client '<default>'
      penstock quota set connection=20 --ip 10.0.0.7
    """
    ops = [altering.OpData(key=key, value=value) for key, value in map(_limit, limits)]
    _alter(_entity(user, client_id, ip), ops, server, client)


@app.command()
def remove(
    keys: list[str] = typer.Argument(metavar="KEY…", help="Quotas by Kafka's names, or in short."),
    *,
    user: str | None = _User,
    client_id: str | None = _Client,
    ip: str | None = _Ip,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Take quotas away again."""
    ops = [altering.OpData(key=_KEYS.get(key, key), remove=True) for key in keys]
    _alter(_entity(user, client_id, ip), ops, server, client)


def _named(entity: Mapping[str, str | None]) -> str:
    return ", ".join(f"{kind}={name or DEFAULT}" for kind, name in entity.items())


def _number(value: float) -> str:
    """A limit as people write it: 1048576, not 1.04858e+06."""
    return str(int(value)) if value.is_integer() else str(value)


def _limit(text: str) -> tuple[str, float]:
    key, _, value = text.partition("=")
    try:
        return _KEYS.get(key, key), float(value)
    except ValueError:
        raise CommandError(
            f"{text} is not a quota: write KEY=NUMBER, like produce=1048576", EXIT_USAGE
        ) from None


def _entity(user: str | None, client_id: str | None, ip: str | None) -> list[altering.RequestEntityData]:
    given = ((entities.USER, user), (entities.CLIENT_ID, client_id), (entities.IP, ip))
    found = [
        altering.RequestEntityData(entity_type=kind, entity_name=None if name == DEFAULT else name)
        for kind, name in given
        if name is not None
    ]
    if not found:
        raise CommandError("whose quota? Give --user, --client, both, or --ip", EXIT_USAGE)
    return found


def _alter(
    entity: list[altering.RequestEntityData], ops: list[altering.OpData], server: str, client: list[str]
) -> None:
    request = altering.AlterClientQuotasRequest(entries=[altering.RequestEntryData(entity=entity, ops=ops)])
    operator = Operator(server, client)
    try:
        result = operator.ask_parts(altering.API_KEY, request).entries[0]
    finally:
        operator.close()
    if result.error_code:
        raise CommandError(result.error_message or ErrorCode(result.error_code).name)
    whose = _named({each.entity_type: each.entity_name for each in entity})
    for op in ops:
        print(f"{whose}: {op.key} is {'taken away' if op.remove else _number(op.value)}")
