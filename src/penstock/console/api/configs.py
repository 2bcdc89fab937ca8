"""Settings of topics and brokers: shown with their sources, changed, reset."""

from typing import Any, Final

import msgspec
from aiohttp import web

from penstock.client.aio import ANY
from penstock.console.refusals import bad_request, check
from penstock.console.web import CLIENT, answer, body_of
from penstock.protocol.messages import incremental_alter_configs as altering
from penstock.protocol.messages.describe_configs import DescribeConfigsResourceResult

_TOPIC: Final = 2
_BROKER: Final = 4
_SET: Final = 0
_DELETE: Final = 1

_SOURCES: Final = {
    1: "topic",
    2: "broker, changed",
    3: "all brokers, changed",
    4: "broker's file",
    5: "default",
    6: "broker's logger",
    7: "client metrics",
    8: "group",
}
_OWN_SOURCES: Final = {_TOPIC: 1, _BROKER: 2}


class Changes(msgspec.Struct, kw_only=True):
    set: dict[str, str] = {}
    reset: list[str] = []


def resource_of(request: web.Request) -> tuple[int, str]:
    if "topic" in request.match_info:
        return _TOPIC, request.match_info["topic"]
    return _BROKER, request.match_info["broker"]


async def show_settings(request: web.Request) -> web.Response:
    kind, name = resource_of(request)
    settings = await request[CLIENT].describe_configs(kind, name)
    rows = [setting_row(setting, kind) for setting in settings]
    return answer({"settings": sorted(rows, key=lambda row: (not row["isOwn"], row["name"]))})


def setting_row(setting: DescribeConfigsResourceResult, kind: int) -> dict[str, Any]:
    return {
        "name": setting.name,
        "value": setting.value,
        "source": _SOURCES.get(setting.config_source, "unknown"),
        "isOwn": setting.config_source == _OWN_SOURCES[kind],
        "readOnly": setting.read_only,
        "sensitive": setting.is_sensitive,
        "documentation": setting.documentation,
    }


async def change_settings(request: web.Request) -> web.Response:
    kind, name = resource_of(request)
    wanted = await body_of(request, Changes)
    if not wanted.set and not wanted.reset:
        raise bad_request("The request changes nothing.")
    changes = [
        *(
            altering.AlterableConfig(name=key, config_operation=_SET, value=value)
            for key, value in wanted.set.items()
        ),
        *(altering.AlterableConfig(name=key, config_operation=_DELETE, value=None) for key in wanted.reset),
    ]
    message = altering.IncrementalAlterConfigsRequest(
        resources=[altering.AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)]
    )
    to = int(name) if kind == _BROKER else ANY
    response = await request[CLIENT].request(to, message)
    result = response.responses[0]
    what = "topic" if kind == _TOPIC else "broker"
    check(result.error_code, f"The settings of {what} {name} cannot be changed", result.error_message)
    return answer({})


ROUTES = (
    ("GET", "topics/{topic}/config", show_settings),
    ("POST", "topics/{topic}/config", change_settings),
    ("GET", r"brokers/{broker:\d+}/config", show_settings),
    ("POST", r"brokers/{broker:\d+}/config", change_settings),
)
