"""`penstock user …`: who may log in by SCRAM. Users are kept in the cluster's metadata."""

import sys
from typing import Any

import typer

from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    BootstrapServer,
    ClientSetting,
    admin_client,
    describe_error,
    metadata_of,
    result_of,
)
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.output import AsJson, print_json, print_table

app = typer.Typer(help="Add, list and remove users who log in with a password (SCRAM).", no_args_is_help=True)

_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_NAME = typer.Argument(help="The user's name.")
_MECHANISM = typer.Option(
    [],
    "--mechanism",
    "-m",
    metavar="NAME",
    show_default="both",
    help="SCRAM-SHA-256 or SCRAM-SHA-512. May be given again.",
)


@app.command()
def add(
    *,
    name: str = _NAME,
    password: str | None = typer.Option(
        None,
        metavar="TEXT",
        help="The password. Without it, it is asked for, or read from standard input: others can see what a "
        "command was started with.",
    ),
    mechanism: list[str] = _MECHANISM,
    iterations: int = typer.Option(
        4096, min=4096, max=16384, metavar="N", help="How costly a guess is made."
    ),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Give a user a password, or another one. Who is logged in stays so.

    For example:

      penstock user add alice
      penstock user add alice --command-config admin.properties < password.txt
    """
    from confluent_kafka.admin import ScramCredentialInfo, UserScramCredentialUpsertion

    if not name:
        raise CommandError("the user's name is empty: give one", EXIT_USAGE)
    mechanisms = _mechanisms(mechanism)
    secret = password if password is not None else _ask_password(name)
    if not secret:
        raise CommandError("the password is empty: give one", EXIT_USAGE)
    admin = _admin(server, client)
    for each in mechanisms:  # Kafka takes one change of a user in a request
        info = ScramCredentialInfo(_number(each), iterations)
        change = UserScramCredentialUpsertion(name, info, secret.encode())
        _alter(admin, change, f"user {name} cannot be added")
    print(f"{name} can log in by {' and '.join(mechanisms)}")


@app.command(name="list")
def list_(
    *,
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """List the users, and how each can log in."""
    users = _users(_admin(server, client))
    if as_json:
        print_json([{"name": name, "mechanisms": users[name]} for name in sorted(users)])
        return
    rows = [(name, ", ".join(f"{m} ({i})" for m, i in users[name].items())) for name in sorted(users)]
    print_table(("user", "mechanism (iterations)"), rows)


@app.command()
def remove(
    *,
    name: str = _NAME,
    mechanism: list[str] = _MECHANISM,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Take a user's password away: no new login. Connections that are logged in stay so."""
    from confluent_kafka.admin import UserScramCredentialDeletion

    admin = _admin(server, client)
    known = _users(admin).get(name)
    if known is None:
        raise CommandError(f"there is no user {name}: `penstock user list` shows them")
    removed = [each for each in _mechanisms(mechanism) if each in known or mechanism]
    for each in removed:
        _alter(admin, UserScramCredentialDeletion(name, _number(each)), f"user {name} cannot be removed")
    print(f"{name} can no longer log in by {' or '.join(removed)}")


def _admin(server: str, client: list[str]) -> Any:
    admin = admin_client(server, client)
    metadata_of(admin)  # fails sooner, and says why
    return admin


def _ask_password(name: str) -> str:
    if sys.stdin.isatty():
        answer: str = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True)
        return answer
    return sys.stdin.readline().rstrip("\r\n")


def _mechanisms(given: list[str]) -> list[str]:
    chosen = [each.upper() for each in given] or list(_MECHANISMS)
    for each in chosen:
        if each not in _MECHANISMS:
            raise CommandError(f"--mechanism {each}: choose {' or '.join(_MECHANISMS)}", EXIT_USAGE)
    return list(dict.fromkeys(chosen))


def _number(mechanism: str) -> Any:
    from confluent_kafka.admin import ScramMechanism

    return ScramMechanism[mechanism.replace("-", "_")]


def _alter(admin: Any, change: Any, what: str) -> None:
    futures = admin.alter_user_scram_credentials([change], request_timeout=REQUEST_TIMEOUT_SECONDS)
    for future in futures.values():
        result_of(future, what)


def _users(admin: Any) -> dict[str, dict[str, int]]:
    """Iterations by mechanism, by user."""
    from confluent_kafka import KafkaException

    try:
        described = admin.describe_user_scram_credentials(request_timeout=REQUEST_TIMEOUT_SECONDS).result()
    except KafkaException as error:
        raise CommandError(f"the users cannot be listed: {describe_error(error)}") from None
    return {
        name: {
            info.mechanism.name.replace("_", "-"): info.iterations for info in found.scram_credential_infos
        }
        for name, found in described.items()
    }
