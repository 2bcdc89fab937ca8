"""DescribeConfigs, IncrementalAlterConfigs, AlterConfigs, ListConfigResources."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic

TOPIC = "configured"
_TOPIC, _BROKER, _CLIENT_METRICS, _GROUP = 2, 4, 16, 32
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_PLACES = ("listener", "log.dir", "controller.", "node.id", "broker.id", "process.roles")
_SET_FOR_ONE_NODE = (
    "offsets.topic.repl",
    "transaction.state.log.repl",
    "transaction.state.log.min",
    "group.initial",
    "share.coordinator.state.topic.repl",
    "share.coordinator.state.topic.min",
)

Change = tuple[str, int, str | None]


def ask_all(asker: Asker) -> None:
    make_topic(asker, TOPIC, retention_ms="12345")
    _every_setting(asker)
    _descriptions(asker)
    for validate_only in (True, False):
        _topic_changes(asker, validate_only)
        _broker_changes(asker, validate_only)
        _other_changes(asker, validate_only)
    _whole_changes(asker)


def _every_setting(asker: Asker) -> None:
    """Each by itself: its value, where that comes from, its type."""
    for kind, name in ((_TOPIC, TOPIC), (_BROKER, "1"), (_GROUP, "anyone")):
        wanted = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
        answer = asker.quietly("DescribeConfigs", 4, resources=[wanted], include_synonyms=True)
        for each in answer["results"][0]["configs"]:
            if not each["name"].startswith((*_PLACES, *_SET_FOR_ONE_NODE)):
                asker.note(f"setting {each['name']} of {kind}", each)


def _describe(asker: Asker, label: str, version: int, kind: int, name: str, keys: Any) -> None:
    wanted = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    asker.ask(label, "DescribeConfigs", version, resources=[wanted], include_synonyms=True)


def _descriptions(asker: Asker) -> None:
    for version in (1, 2, 3, 4):
        for label, kind, name in (
            ("unknown topic", _TOPIC, "nobody"), ("bad name", _TOPIC, "a b"), ("no name", _TOPIC, ""),
            ("unknown broker", _BROKER, "9"), ("bad broker", _BROKER, "x"), ("type 0", 0, "x"),
            ("type 99", 99, "x"), ("unknown logger", 8, "9"), ("unnamed group", _GROUP, ""),
            ("unnamed metrics", _CLIENT_METRICS, ""), ("metrics", _CLIENT_METRICS, "anyone"),
        ):  # fmt: skip
            _describe(asker, label, version, kind, name, None)
        _describe(asker, "by key", version, _TOPIC, TOPIC, ["retention.ms", "nothing"])
    asker.ask("nothing", "DescribeConfigs", 4, resources=[])


def _change(
    asker: Asker, label: str, kind: int, name: str, *changes: Change, validate_only: bool = False
) -> None:
    configs = [
        {"name": key, "config_operation": operation, "value": value} for key, operation, value in changes
    ]
    asker.ask(
        f"{label}, validate {validate_only}",
        "IncrementalAlterConfigs",
        1,
        resources=[{"resource_type": kind, "resource_name": name, "configs": configs}],
        validate_only=validate_only,
    )


def _topic_changes(asker: Asker, validate_only: bool) -> None:
    asked: dict[str, tuple[Change, ...]] = {
        "set": (("retention.ms", _SET, "5"),),
        "not a number": (("retention.ms", _SET, "x"),),
        "too low": (("retention.ms", _SET, "-9"),),
        "unknown setting": (("nothing", _SET, "5"),),
        "delete what is not set": (("segment.ms", _DELETE, None),),
        "delete what is unknown": (("nothing", _DELETE, None),),
        "set to nothing": (("retention.ms", _SET, None),),
        "append to no list": (("retention.ms", _APPEND, "5"),),
        "append": (("cleanup.policy", _APPEND, "compact"),),
        "append again": (("cleanup.policy", _APPEND, "delete"),),
        "append what is wrong": (("cleanup.policy", _APPEND, "zip"),),
        "subtract": (("cleanup.policy", _SUBTRACT, "compact"),),
        "subtract what is not there": (("cleanup.policy", _SUBTRACT, "zip"),),
        "twice": (("retention.ms", _SET, "5"), ("retention.ms", _SET, "6")),
        "nothing": (),
        "not a choice": (("compression.type", _SET, "zip"),),
        "no key": (("", _SET, "5"),),
    }
    for label, changes in asked.items():
        _change(asker, f"topic: {label}", _TOPIC, TOPIC, *changes, validate_only=validate_only)
    fine = ("retention.ms", _SET, "5")
    _change(asker, "unknown topic", _TOPIC, "nobody", fine, validate_only=validate_only)
    _change(asker, "unnamed topic", _TOPIC, "", fine, validate_only=validate_only)


def _broker_changes(asker: Asker, validate_only: bool) -> None:
    for broker in ("1", ""):
        for key, value in (
            ("node.id", "5"), ("num.partitions", "5"), ("log.retention.ms", "x"), ("listeners", "x"),
            ("num.io.threads", "0"), ("max.connections", "-5"), ("unclean.leader.election.enable", "x"),
            ("message.max.bytes", "1000000"),
        ):  # fmt: skip
            label = f"broker {broker!r}: {key}={value}"
            _change(asker, label, _BROKER, broker, (key, _SET, value), validate_only=validate_only)
        gone: Change = ("message.max.bytes", _DELETE, None)
        _change(asker, f"broker {broker!r}: delete", _BROKER, broker, gone, validate_only=validate_only)
    fine = ("log.retention.ms", _SET, "5")
    for kind, name in ((_BROKER, "9"), (_BROKER, "x"), (0, "x"), (99, "x"), (3, "x")):
        _change(asker, f"{kind} {name}", kind, name, fine, validate_only=validate_only)


def _other_changes(asker: Asker, validate_only: bool) -> None:
    for label, group, key, value in (
        ("good", "g", "consumer.session.timeout.ms", "50000"),
        ("too low", "g", "consumer.session.timeout.ms", "5"),
        ("too high", "g", "consumer.session.timeout.ms", "999999999"),
        ("unknown setting", "g", "nothing", "5"),
        ("unnamed", "", "consumer.session.timeout.ms", "50000"),
    ):
        change: Change = (key, _SET, value)
        _change(asker, f"group: {label}", _GROUP, group, change, validate_only=validate_only)
    for label, name, key, value in (
        ("good", "m", "interval.ms", "1000"),
        ("too often", "m", "interval.ms", "5"),
        ("bad match", "m", "match", "nothing=5"),
        ("unknown setting", "m", "nothing", "5"),
        ("unnamed", "", "interval.ms", "1000"),
    ):
        change = (key, _SET, value)
        _change(asker, f"metrics: {label}", _CLIENT_METRICS, name, change, validate_only=validate_only)


def _whole_changes(asker: Asker) -> None:
    for version in range(3):

        def alter(label: str, kind: int, name: str, version: int = version, **configs: str | None) -> None:
            wanted = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
            resource = {"resource_type": kind, "resource_name": name, "configs": wanted}
            asker.ask(label, "AlterConfigs", version, resources=[resource], validate_only=False)

        alter("good", _TOPIC, TOPIC, retention_ms="77")
        alter("not a number", _TOPIC, TOPIC, retention_ms="x")
        alter("no value", _TOPIC, TOPIC, retention_ms=None)
        alter("unknown topic", _TOPIC, "nobody", retention_ms="7")
        alter("nothing", _TOPIC, TOPIC)
        alter("unknown broker", _BROKER, "9")
        alter("type 0", 0, "")
    _describe(asker, "of a group", 4, _GROUP, "g", ["consumer.session.timeout.ms"])
    _describe(asker, "of metrics", 4, _CLIENT_METRICS, "m", None)
    for types in ([_CLIENT_METRICS, _GROUP], [0], [99]):
        asker.ask(f"{types}", "ListConfigResources", 1, resource_types=types)
