"""`penstock config …`: read and change settings of topics, brokers and groups, and list every setting.

librdkafka knows only topics and single brokers, so all kinds use the protocol's requests directly.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import typer

from penstock.cli.connect.target import Target, connects, unknown_topic
from penstock.cli.errors import CommandError, UsageError
from penstock.cli.output import AsJson, print_result

if TYPE_CHECKING:
    from penstock.cli.connect.requests import RequestClient
    from penstock.config.property import Property

app = typer.Typer(help="Read and change settings while the broker runs.", no_args_is_help=True)

Kind = Literal["topic", "broker", "brokers", "group", "client-metrics", "broker-logger"]
Operation = Literal["SET", "DELETE", "APPEND", "SUBTRACT"]

_RESOURCE_TYPES: Mapping[Kind, int] = {
    "topic": 2,
    "broker": 4,
    "brokers": 4,  # with an empty name
    "broker-logger": 8,
    "client-metrics": 16,
    "group": 32,
}
_OPERATIONS: Mapping[Operation, int] = {"SET": 0, "DELETE": 1, "APPEND": 2, "SUBTRACT": 3}
_CLUSTER_DEFAULT, _DEFAULT = 3, 5
_SOURCES = {
    1: "dynamic topic",
    2: "dynamic broker",
    _CLUSTER_DEFAULT: "dynamic default broker",
    4: "static broker",
    _DEFAULT: "default",
    6: "dynamic broker logger",
    7: "dynamic client metrics",
    8: "dynamic group",
}
_HIDDEN = "(hidden)"

_Kind: Kind = typer.Argument(
    metavar="KIND",
    help="topic, broker, brokers (the default of all brokers), group, client-metrics or broker-logger.",
)
_Settings: list[str] = typer.Argument(
    metavar="NAME KEY=VALUE",
    help="Name of the topic, group or broker id (optional for a broker), then settings.",
)
_Keys: list[str] = typer.Argument(
    metavar="NAME KEY",
    help="Name of the topic, group or broker id (optional for a broker), then names of settings.",
)


@app.command()
@connects
def describe(
    target: Target,
    *,
    kind: Kind = _Kind,
    name: str | None = typer.Argument(None, metavar="NAME", help="Topic name or broker id."),
    show_all: bool = typer.Option(False, "--all", help="Show settings at their default too."),
    as_json: bool = AsJson,
) -> None:
    """Show the settings of a topic, broker, group or metrics subscription that are not at their default.

    For a broker-logger, show the log levels of a broker, which last until it restarts.

    For example:

      penstock config describe topic orders --all
      penstock config describe broker
      penstock config describe brokers
      penstock config describe broker-logger
    """
    from penstock.cli.connect.requests import check_error
    from penstock.protocol.messages import describe_configs as api

    with target.requests() as client:
        owner = _check_name(client, kind, name)
        resource = api.DescribeConfigsResource(
            resource_type=_RESOURCE_TYPES[kind], resource_name=owner, configuration_keys=None
        )
        request = api.DescribeConfigsRequest(resources=[resource])
        result = _ask(client, kind, owner, request).results[0]
    check_error(result, f"cannot read the settings of {kind} {owner}".rstrip())
    shown = [
        {
            "name": each.name,
            "value": each.value,
            "source": _SOURCES.get(each.config_source, "broker"),
            "readOnly": each.read_only,
            "sensitive": each.is_sensitive,
        }
        for each in sorted(result.configs, key=lambda each: each.name)
        if show_all or not _is_default(kind, each)
    ]
    rows = [
        (each["name"], _HIDDEN if each["sensitive"] else each["value"] or "", each["source"])
        for each in shown
    ]
    empty = f"{kind} {owner}".rstrip() + " has every setting at its default; --all shows them"
    print_result(shown, ("setting", "value", "from"), rows, as_json=as_json, empty=empty)


def _is_default(kind: Kind, entry: Any) -> bool:
    """A new cluster stores the default of one setting (KIP-966), which topics and brokers need not show."""
    from penstock.config.property import render
    from penstock.config.settings.topic import MIN_INSYNC_REPLICAS as STORED

    is_stored = entry.config_source == _CLUSTER_DEFAULT and kind in ("topic", "broker")
    return entry.config_source == _DEFAULT or (
        is_stored and (entry.name, entry.value) == (STORED.name, render(STORED.default))
    )


@app.command("set")
@connects
def set_(target: Target, *, kind: Kind = _Kind, arguments: list[str] = _Settings) -> None:
    """Change settings. They take effect immediately and survive a restart.

    For example:

      penstock config set topic orders retention.ms=3600000 segment.bytes=1048576
      penstock config set broker 1 log.cleaner.threads=2
      penstock config set brokers log.retention.ms=86400000
      penstock config set group billing consumer.session.timeout.ms=60000
      penstock config set client-metrics all metrics=* interval.ms=10000
      penstock config set broker-logger 1 penstock.storage=DEBUG
    """
    _alter(target, kind, arguments, "SET")


@app.command()
@connects
def unset(target: Target, *, kind: Kind = _Kind, arguments: list[str] = _Keys) -> None:
    """Reset settings to their default.

    For example:

      penstock config unset topic orders retention.ms
    """
    _alter(target, kind, arguments, "DELETE")


@app.command()
@connects
def append(target: Target, *, kind: Kind = _Kind, arguments: list[str] = _Settings) -> None:
    """Add a value to a setting that is a list.

    For example:

      penstock config append topic orders cleanup.policy=compact
    """
    _alter(target, kind, arguments, "APPEND")


@app.command()
@connects
def subtract(target: Target, *, kind: Kind = _Kind, arguments: list[str] = _Settings) -> None:
    """Remove a value from a setting that is a list.

    For example:

      penstock config subtract topic orders cleanup.policy=delete
    """
    _alter(target, kind, arguments, "SUBTRACT")


def _alter(target: Target, kind: Kind, arguments: list[str], operation: Operation) -> None:
    from penstock.cli.connect.requests import check_error
    from penstock.protocol.messages import incremental_alter_configs as api

    name, changes = parse_arguments(kind, arguments, operation)
    if operation != "DELETE" and kind in ("broker", "brokers"):
        _check_known(changes)
    with target.requests() as client:
        owner = _check_name(client, kind, name)
        resource = api.AlterConfigsResource(
            resource_type=_RESOURCE_TYPES[kind],
            resource_name=owner,
            configs=[
                api.AlterableConfig(name=key, config_operation=_OPERATIONS[operation], value=value)
                for key, value in changes.items()
            ],
        )
        request = api.IncrementalAlterConfigsRequest(resources=[resource])
        result = _ask(client, kind, owner, request).responses[0]
    check_error(result, f"cannot change {kind} {owner}".rstrip())
    for key, value in changes.items():
        print(f"{kind} {owner}".rstrip() + ": " + _describe_change(operation, key, value))


def _ask(client: "RequestClient", kind: Kind, owner: str, request: Any) -> Any:
    """Ask the broker itself for its settings and loggers; any broker answers for the rest."""
    return (
        client.ask_broker(int(owner), request) if kind.startswith("broker") and owner else client.ask(request)
    )


def _check_known(names: Iterable[str]) -> None:
    """Refuse misspelt names: a broker accepts names that it does not know, as Kafka's do."""
    from penstock.config.property import ConfigError
    from penstock.config.table import known_broker_property

    try:
        for each in names:
            known_broker_property(each)
    except ConfigError as error:
        raise UsageError(f"{error}. `penstock config list` shows every setting") from None


def _describe_change(operation: Operation, key: str, value: str | None) -> str:
    from penstock.config.table import broker_property

    if (known := broker_property(key)) is not None and known.sensitive and value is not None:
        value = _HIDDEN
    return {
        "SET": f"{key} is {value}",
        "DELETE": f"{key} is at its default",
        "APPEND": f"{value} added to {key}",
        "SUBTRACT": f"{value} removed from {key}",
    }[operation]


def parse_arguments(
    kind: Kind, arguments: list[str], operation: Operation
) -> tuple[str | None, dict[str, str | None]]:
    """Split the name from the settings. Only a broker's number may be left out: a setting is not a number."""
    name, rest = arguments[0], arguments[1:]
    is_of_broker = kind in ("broker", "broker-logger")
    if kind == "brokers" or (is_of_broker and not name.isdecimal()):
        rest = arguments
    if not rest or (rest is not arguments and not is_of_broker and "=" in name):
        form = "KEY..." if operation == "DELETE" else "KEY=VALUE..."
        raise UsageError(f"say whose settings and which: {kind} {'ID' if is_of_broker else 'NAME'} {form}")
    changes: dict[str, str | None] = {}
    for setting in rest:
        key, separator, value = setting.partition("=")
        if operation == "DELETE" and separator:
            raise UsageError(f"{setting!r}: give only the name of the setting")
        if operation != "DELETE" and (not separator or not key):
            raise UsageError(f"{setting!r} is not a setting: write it as KEY=VALUE")
        changes[key] = None if operation == "DELETE" else value
    return (None if rest is arguments else name), changes


def _check_name(client: "RequestClient", kind: Kind, name: str | None) -> str:
    """Give the name of the resource. Raises `CommandError` if it is missing, or does not exist."""
    if kind == "brokers":
        if name is not None:
            raise UsageError("brokers means all of them: leave out the name, or write broker N")
        return ""
    if kind in ("broker", "broker-logger"):
        brokers = [str(each) for each in client.brokers()]
        if name is None and len(brokers) > 1:
            raise UsageError(f"say which broker: there are {', '.join(brokers)}")
        if name is not None and name not in brokers:
            raise client.unknown_broker(name)
        return name or brokers[0]
    if not name:
        raise UsageError(f"say which {kind}: `penstock config describe {kind} NAME`")
    if kind == "topic" and name not in (topics := client.topics()):
        raise unknown_topic(name, topics)
    return name


@app.command("list")
def list_(
    *,
    pattern: str = typer.Argument("", metavar="PATTERN", help="List only settings whose name contains this."),
    scope: Literal["all", "broker", "topic", "group"] = typer.Option(
        "all", help="List only settings of this scope."
    ),
    as_json: bool = AsJson,
) -> None:
    """List every setting: its default, how it can be changed, and what it does. Needs no broker.

    For example:

      penstock config list retention
      penstock config list --scope topic
    """
    from penstock.config.table import BROKER, GROUP, TOPIC

    tables = {"topic": TOPIC, "group": GROUP, "broker": BROKER}
    found = [
        _setting(owner, prop)
        for owner, table in tables.items()
        if scope in ("all", owner)
        for name, prop in sorted(table.items())
        if pattern in name
    ]
    if not found:
        raise CommandError(f"no setting has {pattern!r} in its name; `penstock config list` shows all")
    print_result(found, list(found[0]), [list(each.values()) for each in found], as_json=as_json)


def _setting(scope: str, prop: "Property[object]") -> dict[str, Any]:
    from penstock.config.property import render

    return {
        "name": prop.name,
        "scope": scope,
        "type": prop.kind.name.lower(),
        "default": render(prop.default),
        "update": prop.live.value if scope == "broker" else "live",
        "doc": prop.doc,
    }
