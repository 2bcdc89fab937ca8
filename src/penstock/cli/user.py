"""`penstock user …`: add, list and remove users who log in with a password (SCRAM)."""

import sys
from typing import Any

import typer
from confluent_kafka.admin import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from penstock.cli.connect.librdkafka import wait_for
from penstock.cli.connect.target import Target, connects
from penstock.cli.errors import CommandError, UsageError
from penstock.cli.output import AsJson, print_result

app = typer.Typer(help="Add, list and remove users who log in with a password (SCRAM).", no_args_is_help=True)

_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_Name: str = typer.Argument(metavar="USER", help="User name.")
_Mechanism: list[str] = typer.Option(
    [],
    "--mechanism",
    "-m",
    metavar="NAME",
    show_default="both",
    help="Use SCRAM-SHA-256 or SCRAM-SHA-512 (repeatable).",
)


@app.command()
@connects
def add(
    target: Target,
    *,
    name: str = _Name,
    password: str | None = typer.Option(
        None,
        metavar="TEXT",
        help="Password. Visible in the process list: without it, the command prompts or reads standard input.",
    ),
    mechanism: list[str] = _Mechanism,
    iterations: int = typer.Option(
        4096, min=4096, max=16384, metavar="N", help="Hash the password this many times."
    ),
) -> None:
    """Add a user, or change its password. Connections that are logged in stay so.

    For example:

      penstock user add alice
      penstock user add alice --command-config admin.properties < password.txt
    """
    if not name:
        raise UsageError("the user's name is empty: give one")
    mechanisms = _check_mechanisms(mechanism)
    secret = password if password is not None else _read_password(name)
    if not secret:
        raise UsageError("the password is empty: give one")
    admin = target.admin()
    for each in mechanisms:  # a request takes one change of a user
        info = ScramCredentialInfo(_number(each), iterations)
        _alter(admin, UserScramCredentialUpsertion(name, info, secret.encode()), f"cannot add user {name}")
    print(f"{name} can log in by {' and '.join(mechanisms)}")


@app.command(name="list")
@connects
def list_(target: Target, *, as_json: bool = AsJson) -> None:
    """List the users with their SCRAM mechanisms."""
    users = _fetch_users(target.admin())
    print_result(
        [{"name": name, "mechanisms": users[name]} for name in sorted(users)],
        ("user", "mechanism (iterations)"),
        [(name, ", ".join(f"{m} ({i})" for m, i in users[name].items())) for name in sorted(users)],
        as_json=as_json,
    )


@app.command()
@connects
def remove(target: Target, *, name: str = _Name, mechanism: list[str] = _Mechanism) -> None:
    """Remove a user's password: new logins fail. Connections that are logged in stay so."""
    admin = target.admin()
    known = _fetch_users(admin).get(name)
    if known is None:
        raise CommandError(f"there is no user {name}: `penstock user list` lists them")
    removed = [each for each in _check_mechanisms(mechanism) if each in known or mechanism]
    for each in removed:
        _alter(admin, UserScramCredentialDeletion(name, _number(each)), f"cannot remove user {name}")
    print(f"{name} can no longer log in by {' or '.join(removed)}")


def _read_password(name: str) -> str:
    if sys.stdin.isatty():
        password: str = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True)
        return password
    return sys.stdin.readline().rstrip("\r\n")


def _check_mechanisms(given: list[str]) -> list[str]:
    chosen = [each.upper() for each in given] or list(_MECHANISMS)
    for each in chosen:
        if each not in _MECHANISMS:
            raise UsageError(f"--mechanism {each}: choose {' or '.join(_MECHANISMS)}")
    return list(dict.fromkeys(chosen))


def _number(mechanism: str) -> Any:
    return ScramMechanism[mechanism.replace("-", "_")]


def _alter(admin: Any, change: Any, action: str) -> None:
    futures = admin.alter_user_scram_credentials([change])
    for future in futures.values():
        wait_for(future, action)


def _fetch_users(admin: Any) -> dict[str, dict[str, int]]:
    """Fetch the iterations by mechanism, by user."""
    request = admin.describe_user_scram_credentials()
    described: Any = wait_for(request, "cannot list the users")
    return {
        name: {
            info.mechanism.name.replace("_", "-"): info.iterations for info in found.scram_credential_infos
        }
        for name, found in described.items()
    }
