"""`penstock quota …`: list, set and remove quotas of users, client ids and addresses (KIP-546)."""

from collections.abc import Mapping

import msgspec
import typer

from penstock.cli.connect.requests import check_error
from penstock.cli.connect.target import Target, connects
from penstock.cli.errors import UsageError
from penstock.cli.options import takes
from penstock.cli.output import AsJson, print_result
from penstock.protocol.messages import alter_client_quotas as altering
from penstock.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from penstock.security.quotas import entities

app = typer.Typer(
    help="List, set and remove quotas of users, client ids and addresses.", no_args_is_help=True
)

DEFAULT = "<default>"
_KEYS = {
    "produce": entities.PRODUCER_BYTE_RATE,
    "fetch": entities.CONSUMER_BYTE_RATE,
    "request": entities.REQUEST_PERCENTAGE,
    "mutation": entities.CONTROLLER_MUTATION_RATE,
    "connection": entities.CONNECTION_CREATION_RATE,
}
_KEYS_HELP = ", ".join(f"{short} ({name})" for short, name in _KEYS.items())


class EntityOptions(msgspec.Struct, frozen=True, kw_only=True):
    user: str | None = typer.Option(
        None, metavar="USER", help=f"User; {DEFAULT}: users without quotas of their own."
    )
    client_id: str | None = typer.Option(
        None, "--client", metavar="ID", help=f"Client id; {DEFAULT}: client ids without quotas of their own."
    )
    ip: str | None = typer.Option(
        None, metavar="ADDRESS", help=f"Address; {DEFAULT}: addresses without quotas of their own."
    )

    def entity(self) -> dict[str, str | None]:
        """Give the name of each type of entity, None for its default."""
        given = {entities.USER: self.user, entities.CLIENT_ID: self.client_id, entities.IP: self.ip}
        found = {kind: None if name == DEFAULT else name for kind, name in given.items() if name is not None}
        if not found:
            raise UsageError("say whose quota: give --user, --client, both, or --ip")
        return found


@app.command("list")
@connects
def list_(target: Target, *, as_json: bool = AsJson) -> None:
    """List every quota."""
    with target.requests() as client:
        response = client.ask(DescribeClientQuotasRequest())
    found = [
        (
            {each.entity_type: each.entity_name for each in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in response.entries or ()
    ]
    print_result(
        [{"entity": entity, "quotas": values} for entity, values in found],
        ("of", "quota", "limit"),
        [
            (_describe(entity), key, _number(value))
            for entity, values in found
            for key, value in values.items()
        ],
        as_json=as_json,
    )


@app.command("set")
@connects
@takes(EntityOptions)
def set_(
    options: EntityOptions,
    target: Target,
    limits: list[str] = typer.Argument(metavar="KEY=VALUE", help=f"Quotas: {_KEYS_HELP}."),
) -> None:
    """Limit bytes per second, request time in percent, partition changes per second, connections per second.

    For example:

      penstock quota set produce=1048576 fetch=2097152 --user alice
      penstock quota set request=50 --user '<default>' --client '<default>'
      penstock quota set connection=20 --ip 10.0.0.7
    """
    ops = [altering.OpData(key=key, value=value) for key, value in map(_parse_limit, limits)]
    _alter(target, options.entity(), ops)


@app.command()
@connects
@takes(EntityOptions)
def remove(
    options: EntityOptions,
    target: Target,
    keys: list[str] = typer.Argument(metavar="KEY", help=f"Quotas: {_KEYS_HELP}."),
) -> None:
    """Remove quotas.

    For example:

      penstock quota remove produce fetch --user alice
    """
    ops = [altering.OpData(key=_KEYS.get(key, key), remove=True) for key in keys]
    _alter(target, options.entity(), ops)


def _describe(entity: Mapping[str, str | None]) -> str:
    return ", ".join(f"{kind}={name or DEFAULT}" for kind, name in entity.items())


def _number(value: float) -> str:
    """Write a limit as people do: 1048576, not 1.04858e+06."""
    return str(int(value)) if value.is_integer() else str(value)


def _parse_limit(text: str) -> tuple[str, float]:
    key, _, value = text.partition("=")
    try:
        return _KEYS.get(key, key), float(value)
    except ValueError:
        raise UsageError(f"{text} is not a quota: write KEY=NUMBER, like produce=1048576") from None


def _alter(target: Target, entity: dict[str, str | None], ops: list[altering.OpData]) -> None:
    parts = [altering.RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    entry = altering.RequestEntryData(entity=parts, ops=ops)
    with target.requests() as client:
        result = client.ask(altering.AlterClientQuotasRequest(entries=[entry])).entries[0]
    check_error(result, f"cannot change the quotas of {_describe(entity)}")
    for op in ops:
        print(f"{_describe(entity)}: {op.key} is {'removed' if op.remove else _number(op.value)}")
