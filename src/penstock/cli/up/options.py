"""The options of `penstock up`, each in one place: its name, type, default and help.

Knows nothing of typer, which costs a third of the start-up time and of an idle broker's memory: `parse_quickly` reads
a correct command line, and leaves every other one to the full parser in `command.py`, for its help and its errors.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from penstock.observability.logs import LogFormat, LogLevel

LISTEN_DEFAULT = "127.0.0.1:9092"
DATA_DEFAULT = "./penstock-data"


class Option(NamedTuple):
    help: str
    metavar: str | None = None
    show_default: str | None = None
    minimum: int | None = None
    flag: str | None = None
    """Where it is not the field's name."""


class UpOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options that are given; None leaves a value to the properties file, or to the default."""

    listen: Annotated[
        str | None,
        Option(
            "Address to listen on; port 0 picks a free port. NAME://HOST:PORT,… sets several listeners.",
            "HOST:PORT",
            LISTEN_DEFAULT,
        ),
    ] = None
    data: Annotated[
        str | None,
        Option("Data directory; created if it does not exist.", "DIR", DATA_DEFAULT),
    ] = None
    node_id: Annotated[int | None, Option("Node id of this broker.", "N", "1", 0)] = None
    config: Annotated[
        str | None,
        Option("Read settings from a Kafka .properties file; list them with `penstock config list`.", "FILE"),
    ] = None
    settings: Annotated[
        tuple[str, ...], Option("Override a property of the file (repeatable).", "KEY=VALUE", flag="--set")
    ] = ()
    log_level: Annotated[LogLevel, Option("Log level.")] = "info"
    log_format: Annotated[LogFormat, Option("Log format (logs go to stderr).")] = "text"
    join: Annotated[
        tuple[str, ...],
        Option(
            "Join the cluster of this broker (repeatable). Not needed on restart.",
            "HOST:PORT",
        ),
    ] = ()
    token: Annotated[
        str | None,
        Option(
            "Join with this token, from `penstock cluster token`. Visible in the process list: prefer --token-file or "
            "PENSTOCK_TOKEN. Not needed if the same user runs a member on this host.",
            "TOKEN",
        ),
    ] = None
    token_file: Annotated[str | None, Option("Read the join token from a file.", "FILE")] = None
    add_scram: Annotated[
        tuple[str, ...],
        Option(
            "Add a user to a new cluster, for SCRAM-SHA-256 or SCRAM-SHA-512 (repeatable); no effect on an existing "
            "one.",
            "MECHANISM=[name=…,password=…]",
        ),
    ] = ()
    brokers: Annotated[
        int | None,
        Option("Run a local cluster of N brokers on consecutive ports.", "N", None, 1),
    ] = None

    def arguments(self) -> Iterator[str]:
        """Write the options that are given as a command line."""
        by_field = {field: flag for flag, field in _FIELDS.items()}
        for name, value in msgspec.structs.asdict(self).items():
            for each in value if isinstance(value, tuple) else () if value is None else (value,):
                yield from (by_field[name], str(each))


def declared_options() -> Iterator[tuple[str, str, Any, object, Option]]:
    """Give field, flag, type, default and description of each option."""
    hints = get_type_hints(UpOptions, include_extras=True)
    for field in msgspec.structs.fields(UpOptions):
        kind, option = get_args(hints[field.name])
        yield field.name, option.flag or f"--{field.name.replace('_', '-')}", kind, field.default, option


_FIELDS = {flag: name for name, flag, *_ in declared_options()}


def parse_quickly(arguments: Sequence[str]) -> UpOptions | None:
    """Parse a command line without errors; None when it asks for help, or has one."""
    given: dict[str, Any] = {}
    declared = {flag: (name, kind, option) for name, flag, kind, _, option in declared_options()}
    words = iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=")
        if flag not in declared:
            return None
        if not equals:
            value = next(words, "-")
            if value.startswith("-"):  # another option, or nothing, where the value belongs
                return None
        name, kind, option = declared[flag]
        if get_origin(kind) is tuple:
            given.setdefault(name, []).append(value)
        elif option.minimum is None:
            given[name] = value
        elif value.isascii() and value.isdecimal() and int(value) >= option.minimum:
            given[name] = int(value)
        else:
            return None
    try:
        return msgspec.convert(given, UpOptions)
    except msgspec.ValidationError:  # an unknown log level or format
        return None
