"""`penstock config …`: read and change settings of topics and brokers, and look up what there is to set."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import typer

from penstock.cli.config_resources import OtherKind, alter_resource, describe_resource
from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    BootstrapServer,
    ClientSetting,
    admin_client,
    metadata_of,
    result_of,
    unknown_topic,
)
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from penstock.config.property import Property

app = typer.Typer(help="Read and change settings while the broker runs.", no_args_is_help=True)

Kind = Literal["topic", "broker", "brokers", "group", "client-metrics", "broker-logger"]
Operation = Literal["SET", "DELETE", "APPEND", "SUBTRACT"]

_HIDDEN = "(hidden)"

_KIND: Kind = typer.Argument(
    metavar="topic|broker|brokers|group|client-metrics|broker-logger",
    help="Whose settings; brokers means all of them, where a broker has none of its own.",
)
_SETTINGS: list[str] = typer.Argument(
    metavar="NAME KEY=VALUE",
    help="The name, or the broker's number (which may be left out), and settings.",
)
_KEYS: list[str] = typer.Argument(
    metavar="NAME KEY",
    help="The name, or the broker's number (which may be left out), and settings.",
)


@app.command()
def describe(
    *,
    kind: Kind = _KIND,
    name: str | None = typer.Argument(None, help="The topic's name or the broker's number."),
    show_all: bool = typer.Option(False, "--all", help="Show the settings that have their default too."),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Show the settings of a topic, broker, group or metrics subscription that are not at their default.

    Of a broker also the levels of its loggers, which last until it is started again.

    For example:

      penstock config describe topic orders --all
      penstock config describe broker
      penstock config describe brokers
      penstock config describe broker-logger
    """
    if kind != "topic" and kind != "broker":  # noqa: PLR1714  mypy narrows it so
        whose = _named(server, client, kind, name)
        shown = describe_resource(server, client, kind, whose, show_all=show_all)
    else:
        whose, shown = _described(server, client, kind, name, show_all=show_all)
    if as_json:
        print_json(shown)
    elif shown:
        print_table(("setting", "value", "from"), [(e["name"], _value(e), e["source"]) for e in shown])
    else:
        print(f"{kind} {whose}".rstrip() + " has every setting at its default; --all shows them")


def _described(
    server: str, client: list[str], kind: Literal["topic", "broker"], name: str | None, *, show_all: bool
) -> tuple[str, list[dict[str, Any]]]:
    admin = admin_client(server, client)
    resource = _resource(admin, kind, name)
    request = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)
    entries: Any = result_of(request[resource], f"cannot read the settings of {kind} {resource.name}")
    shown = [_entry(entry) for _, entry in sorted(entries.items()) if show_all or not _is_default(entry)]
    return resource.name, shown


def _named(server: str, client: list[str], kind: OtherKind, name: str | None) -> str:
    if kind == "broker-logger":
        return str(_resource(admin_client(server, client), "broker", name).name)
    if kind == "brokers":
        if name is not None:
            raise CommandError("brokers means all of them: leave out the name, or write broker N", EXIT_USAGE)
        return ""
    if not name:
        raise CommandError(f"say which: `penstock config describe {kind} NAME`", EXIT_USAGE)
    return name


def _is_default(entry: Any) -> bool:
    """Whether it need not be shown. A new cluster stores the default of one setting (KIP-966)."""
    from confluent_kafka.admin import ConfigSource

    from penstock.config.property import render
    from penstock.config.themes.topic import MIN_INSYNC_REPLICAS

    is_of_cluster = entry.source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value
    default = MIN_INSYNC_REPLICAS
    is_stored = is_of_cluster and (entry.name, entry.value) == (default.name, render(default.default))
    return bool(entry.is_default or is_stored)


def _entry(entry: Any) -> dict[str, Any]:
    from confluent_kafka.admin import ConfigSource

    return {
        "name": entry.name,
        "value": entry.value,
        "source": ConfigSource(int(entry.source)).name.removesuffix("_CONFIG").lower().replace("_", " "),
        "readOnly": entry.is_read_only,
        "sensitive": entry.is_sensitive,
    }


def _value(entry: dict[str, Any]) -> str:
    return _HIDDEN if entry["sensitive"] else str(entry["value"] if entry["value"] is not None else "")


@app.command("set")
def set_(
    *,
    kind: Kind = _KIND,
    arguments: list[str] = _SETTINGS,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Give settings a value, at once and for good.

    For example:

      penstock config set topic orders retention.ms=3600000 segment.bytes=1048576
      penstock config set broker 1 log.cleaner.threads=2
      penstock config set brokers log.retention.ms=86400000
      penstock config set group billing consumer.session.timeout.ms=60000
      penstock config set client-metrics all metrics=* interval.ms=10000
      penstock config set broker-logger 1 penstock.storage=DEBUG
    """
    _alter(server, client, kind, arguments, "SET")


@app.command()
def unset(
    *,
    kind: Kind = _KIND,
    arguments: list[str] = _KEYS,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Take settings back to their default: `penstock config unset topic orders retention.ms`."""
    _alter(server, client, kind, arguments, "DELETE")


@app.command()
def append(
    *,
    kind: Kind = _KIND,
    arguments: list[str] = _SETTINGS,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Add to a list: `penstock config append topic orders cleanup.policy=compact`."""
    _alter(server, client, kind, arguments, "APPEND")


@app.command()
def subtract(
    *,
    kind: Kind = _KIND,
    arguments: list[str] = _SETTINGS,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Take from a list: `penstock config subtract topic orders cleanup.policy=delete`."""
    _alter(server, client, kind, arguments, "SUBTRACT")


def _alter(server: str, client: list[str], kind: Kind, arguments: list[str], operation: Operation) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

    name, changes = split_arguments(kind, arguments, operation)
    if operation != "DELETE" and kind in ("broker", "brokers"):
        _check_known(changes)
    if kind != "topic" and kind != "broker":  # noqa: PLR1714  mypy narrows it so
        whose = _named(server, client, kind, name)
        alter_resource(server, client, kind, whose, changes=changes, operation=operation)
        for key, value in changes.items():
            print(_done(operation, f"{kind} {whose}".rstrip(), key, value))
        return
    admin = admin_client(server, client)
    resource = _resource(admin, kind, name)
    for key, value in changes.items():
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType[operation])
        resource.add_incremental_config(entry)
    request = admin.incremental_alter_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)
    result_of(request[resource], f"cannot change {kind} {resource.name}")
    for key, value in changes.items():
        print(_done(operation, f"{kind} {resource.name}", key, value))


def _check_known(names: Iterable[str]) -> None:
    """A broker takes names that it does not know, as Kafka's do. Here they are misspelt."""
    from penstock.config.property import ConfigError
    from penstock.config.table import known_broker_property

    try:
        for each in names:
            known_broker_property(each)
    except ConfigError as error:
        raise CommandError(f"{error}. `penstock config list` shows every setting", EXIT_USAGE) from None


def _done(operation: Operation, whose: str, key: str, value: str | None) -> str:
    from penstock.config.table import broker_property

    if (known := broker_property(key)) is not None and known.sensitive and value is not None:
        value = _HIDDEN
    if operation == "SET":
        return f"{whose}: {key} is {value}"
    if operation == "DELETE":
        return f"{whose}: {key} is at its default"
    return f"{whose}: {value} {'added to' if operation == 'APPEND' else 'taken from'} {key}"


def split_arguments(
    kind: Kind, arguments: list[str], operation: Operation
) -> tuple[str | None, dict[str, str | None]]:
    """Whose settings, and which. Only a broker's number may be left out: a setting is no number."""
    name, rest = arguments[0], arguments[1:]
    if kind == "brokers":
        rest = arguments
    is_of_broker = kind in ("broker", "broker-logger")
    if is_of_broker and not name.isdecimal():
        rest = arguments
    if not rest or (not is_of_broker and kind != "brokers" and "=" in name):
        form = "KEY..." if operation == "DELETE" else "KEY=VALUE..."
        raise CommandError(
            f"say whose settings and which: {kind} {'ID' if is_of_broker else 'NAME'} {form}", EXIT_USAGE
        )
    changes: dict[str, str | None] = {}
    for setting in rest:
        key, separator, value = setting.partition("=")
        if operation == "DELETE" and separator:
            raise CommandError(f"{setting!r}: give only the name of what is to be unset", EXIT_USAGE)
        if operation != "DELETE" and (not separator or not key):
            raise CommandError(f"{setting!r} is not a setting: write it as KEY=VALUE", EXIT_USAGE)
        changes[key] = None if operation == "DELETE" else value
    return (None if rest is arguments else name), changes


def _resource(admin: Any, kind: Literal["topic", "broker"], name: str | None) -> Any:
    from confluent_kafka.admin import ConfigResource

    metadata = metadata_of(admin)
    if kind == "topic":
        if name is None:
            raise CommandError("say which topic: `penstock config describe topic NAME`", EXIT_USAGE)
        if name not in metadata.topics:
            raise unknown_topic(name, metadata.topics)
        return ConfigResource("topic", name)
    brokers = sorted(metadata.brokers)
    if name is None:
        if len(brokers) > 1:
            raise CommandError(f"say which broker: there are {', '.join(map(str, brokers))}", EXIT_USAGE)
        name = str(brokers[0])
    if not name.isdecimal() or int(name) not in brokers:
        raise CommandError(f"there is no broker {name}: there are {', '.join(map(str, brokers))}")
    return ConfigResource("broker", name)


@app.command("list")
def list_(
    *,
    pattern: str = typer.Argument("", help="Only settings whose name contains this."),
    scope: Literal["all", "broker", "topic", "group"] = typer.Option("all", help="Whose settings."),
    as_json: bool = AsJson,
) -> None:
    """Show every setting there is: its default, how it may change, and what it does. Needs no broker.

    For example:

      penstock config list retention
      penstock config list --scope topic
    """
    from penstock.config.table import BROKER, GROUP, TOPIC

    tables = {"topic": TOPIC, "group": GROUP, "broker": BROKER}
    found = [
        entry
        for whose, table in tables.items()
        if scope in ("all", whose)
        for entry in _properties(whose, table, pattern)
    ]
    if not found:
        raise CommandError(f"no setting has {pattern!r} in its name; `penstock config list` shows all")
    if as_json:
        print_json(found)
    else:
        columns = ("name", "scope", "type", "default", "update", "doc")
        print_table(columns, [[entry[column] for column in columns] for entry in found])


def _properties(
    scope: str, table: "Mapping[str, Property[object]]", pattern: str
) -> Iterable[dict[str, Any]]:
    from penstock.config.property import render

    for name, prop in sorted(table.items()):
        if pattern in name:
            yield {
                "name": name,
                "scope": scope,
                "type": prop.kind.name.lower(),
                "default": render(prop.default),
                "update": prop.live.value if scope == "broker" else "live",
                "doc": prop.doc,
            }
