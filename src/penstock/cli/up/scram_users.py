"""`penstock up --add-scram`: the users of a new cluster, in the format of Kafka's `kafka-storage format`.

SCRAM-SHA-256=[name=admin,password=admin-secret]
SCRAM-SHA-512=[name="admin",password="with, comma",iterations=8192]
"""

import re

from penstock.cli.errors import CommandError, UsageError
from penstock.cluster.controller.scram_credentials import NewUser
from penstock.security.scram_credentials import ITERATIONS_MAX, ITERATIONS_MIN, SCRAM_BY_NAME

_WHOLE = re.compile(r"([A-Z0-9-]+)=\[(.*)\]")
_PART = re.compile(r'\s*(\w+)=(?:"([^"]*)"|([^,"]*))\s*(?:,|$)')


def parse_user(text: str) -> NewUser:
    """Raises `CommandError`, which does not repeat the password."""
    whole = _WHOLE.fullmatch(text.strip())
    if whole is None or whole[1] not in SCRAM_BY_NAME:
        raise _invalid(f"it must begin with {' or '.join(SCRAM_BY_NAME)}")
    options: dict[str, str] = {}
    position = 0
    while position < len(whole[2]):
        part = _PART.match(whole[2], position)
        if part is None:
            raise _invalid("its parts must be name=…, password=… and iterations=…, separated by commas")
        options[part[1]] = part[3] if part[2] is None else part[2]
        position = part.end()
    if unknown := set(options) - {"name", "password", "iterations"}:
        raise _invalid(f"{', '.join(sorted(unknown))} is unknown: give name, password and iterations")
    iterations = options.get("iterations", str(ITERATIONS_MIN))
    if not iterations.isdecimal() or not ITERATIONS_MIN <= int(iterations) <= ITERATIONS_MAX:
        raise _invalid(f"iterations must be from {ITERATIONS_MIN} to {ITERATIONS_MAX}")
    if not options.get("name") or not options.get("password"):
        raise _invalid("give a name and a password")
    return NewUser(
        user=options["name"],
        mechanism=SCRAM_BY_NAME[whole[1]],
        password=options["password"],
        iterations=int(iterations),
    )


def _invalid(reason: str) -> CommandError:
    return UsageError(
        f"--add-scram: {reason}. For example: --add-scram 'SCRAM-SHA-256=[name=admin,password=…]'"
    )
