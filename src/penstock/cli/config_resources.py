"""Settings of all brokers, of groups and of subscriptions to clients' metrics, and log levels.

librdkafka has no word for these, or, of all brokers, no resource without a name.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from penstock.cli.cluster_facts import Operator
from penstock.cli.errors import CommandError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_configs as describing
from penstock.protocol.messages import incremental_alter_configs as altering

OtherKind = Literal["brokers", "group", "client-metrics", "broker-logger"]

_TYPES: Mapping[OtherKind, int] = {"brokers": 4, "group": 32, "client-metrics": 16, "broker-logger": 8}
_OPERATIONS = {"SET": 0, "DELETE": 1, "APPEND": 2, "SUBTRACT": 3}
_SOURCES = {
    3: "dynamic default broker",
    5: "default",
    6: "dynamic broker logger",
    7: "dynamic client metrics",
    8: "dynamic group",
}
_DEFAULT = 5


def alter_resource(
    server: str,
    client: Iterable[str],
    kind: OtherKind,
    name: str,
    *,
    changes: Mapping[str, str | None],
    operation: str,
) -> None:
    resource = altering.AlterConfigsResource(
        resource_type=_TYPES[kind],
        resource_name=name,
        configs=[
            altering.AlterableConfig(name=key, config_operation=_OPERATIONS[operation], value=value)
            for key, value in changes.items()
        ],
    )
    request = altering.IncrementalAlterConfigsRequest(resources=[resource])
    result = _ask(server, client, altering.API_KEY, request, broker=_broker(kind, name)).responses[0]
    _check(result, f"cannot change {kind} {name}".rstrip())


def describe_resource(
    server: str, client: Iterable[str], kind: OtherKind, name: str, *, show_all: bool
) -> list[dict[str, Any]]:
    """The settings in the form that `penstock config describe` shows."""
    resource = describing.DescribeConfigsResource(
        resource_type=_TYPES[kind], resource_name=name, configuration_keys=None
    )
    request = describing.DescribeConfigsRequest(resources=[resource])
    result = _ask(server, client, describing.API_KEY, request, broker=_broker(kind, name)).results[0]
    _check(result, f"cannot read the settings of {kind} {name}".rstrip())
    return [
        {
            "name": each.name,
            "value": each.value,
            "source": _SOURCES.get(each.config_source, "broker"),
            "readOnly": each.read_only,
            "sensitive": each.is_sensitive,
        }
        for each in sorted(result.configs, key=lambda each: each.name)
        if show_all or each.config_source != _DEFAULT
    ]


def _ask(server: str, client: Iterable[str], api_key: int, request: object, *, broker: str | None) -> Any:
    operator = Operator(server, client)
    try:
        if broker is not None:
            return operator.ask_broker(broker, api_key, request)
        return operator.ask_parts(api_key, request)
    finally:
        operator.close()


def _broker(kind: OtherKind, name: str) -> str | None:
    """Which broker is to be asked, when not just any can answer."""
    return name if kind == "broker-logger" else None


def _check(result: Any, what: str) -> None:
    if result.error_code:
        raise CommandError(f"{what}: {result.error_message or ErrorCode(result.error_code).name}")
