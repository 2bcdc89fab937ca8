import json

import pytest

from penstock.cli.config import Kind, Operation, parse_arguments
from penstock.cli.errors import CommandError
from penstock.cli.main import run
from penstock.config.table import BROKER, GROUP, TOPIC
from tests.cli.conftest import Penstock


@pytest.mark.parametrize(
    ("kind", "arguments", "operation", "expected"),
    [
        ("topic", ["t", "a=1", "b="], "SET", ("t", {"a": "1", "b": ""})),
        ("topic", ["t", "a", "b"], "DELETE", ("t", {"a": None, "b": None})),
        ("broker", ["3", "a=1"], "APPEND", ("3", {"a": "1"})),
        ("broker", ["a=1"], "SET", (None, {"a": "1"})),
        ("broker", ["a"], "DELETE", (None, {"a": None})),
        ("broker-logger", ["3", "a=INFO"], "SET", ("3", {"a": "INFO"})),
        ("broker-logger", ["a"], "DELETE", (None, {"a": None})),
    ],
)
def test_the_name_comes_first_and_a_brokers_number_is_optional(
    kind: Kind, arguments: list[str], operation: Operation, expected: object
) -> None:
    assert parse_arguments(kind, arguments, operation) == expected


@pytest.mark.parametrize(
    ("kind", "arguments", "operation"),
    [
        ("topic", ["t"], "SET"),
        ("topic", ["a=1", "b=2"], "SET"),
        ("topic", ["t", "a"], "SET"),
        ("topic", ["t", "a=1"], "DELETE"),
        ("broker", ["3"], "SET"),
    ],
)
def test_settings_that_are_not_well_formed_are_refused(
    kind: Kind, arguments: list[str], operation: Operation
) -> None:
    with pytest.raises(CommandError):
        parse_arguments(kind, arguments, operation)


def test_list_shows_every_property_with_default_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(each["scope"], each["name"]) for each in found} == {
        *(("topic", name) for name in TOPIC),
        *(("group", name) for name in GROUP),
        *(("broker", name) for name in BROKER),
    }
    (retention,) = (each for each in found if each["name"] == "retention.ms")
    assert retention["default"] == "604800000"
    assert retention["doc"] == TOPIC["retention.ms"].doc


def test_list_takes_a_part_of_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "list", "retention.ms", "--scope", "topic"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "SCOPE", "TYPE", "DEFAULT", "UPDATE", "DOC"]
    assert [row.split()[0] for row in rows] == ["delete.retention.ms", "local.retention.ms", "retention.ms"]
    assert run(["config", "list", "nonsense"]) == 1


def described(penstock: Penstock, topic: str) -> dict[str, str]:
    done = penstock("config", "describe", "topic", topic, "--json")
    return {each["name"]: each["value"] for each in json.loads(done.stdout)}


def test_a_topics_setting_is_set_shown_and_unset(penstock: Penstock, topic: str) -> None:
    done = penstock("config", "set", "topic", topic, "retention.ms=1000", "segment.bytes=1048576")
    assert done.stdout.splitlines()[0] == f"topic {topic}: retention.ms is 1000"
    assert described(penstock, topic) == {"retention.ms": "1000", "segment.bytes": "1048576"}
    penstock("config", "unset", "topic", topic, "retention.ms")
    assert described(penstock, topic) == {"segment.bytes": "1048576"}


def test_a_list_is_added_to_and_taken_from(penstock: Penstock, topic: str) -> None:
    penstock("config", "append", "topic", topic, "cleanup.policy=compact")
    assert described(penstock, topic) == {"cleanup.policy": "delete,compact"}
    penstock("config", "subtract", "topic", topic, "cleanup.policy=delete")
    assert described(penstock, topic) == {"cleanup.policy": "compact"}


def test_all_settings_are_shown_on_request(penstock: Penstock, topic: str) -> None:
    assert "every setting at its default" in penstock("config", "describe", "topic", topic).stdout
    done = penstock("config", "describe", "topic", topic, "--all", "--json")
    assert {each["name"] for each in json.loads(done.stdout)} >= {"retention.ms", "cleanup.policy"}


def test_a_brokers_settings_are_shown_and_changed_without_its_number(penstock: Penstock) -> None:
    shown = {
        each["name"]: each for each in json.loads(penstock("config", "describe", "broker", "--json").stdout)
    }
    assert shown["log.dirs"]["source"] == "static broker"
    penstock("config", "set", "broker", "log.cleaner.threads=2")
    shown = {
        each["name"]: each for each in json.loads(penstock("config", "describe", "broker", "--json").stdout)
    }
    assert (shown["log.cleaner.threads"]["value"], shown["log.cleaner.threads"]["source"]) == (
        "2",
        "dynamic broker",
    )
    penstock("config", "unset", "broker", "log.cleaner.threads")


def test_a_password_that_is_set_is_not_shown(penstock: Penstock) -> None:
    key = "listener.name.clients.plain.sasl.jaas.config"
    done = penstock("config", "set", "broker", f'{key}=PlainLoginModule required user_ann="ann-secret";')
    assert "ann-secret" not in done.stdout
    assert f"{key} is (hidden)" in done.stdout
    penstock("config", "unset", "broker", key)


@pytest.mark.parametrize("whose", [["broker"], ["brokers"]])
def test_a_brokers_setting_that_does_not_exist_is_misspelt(penstock: Penstock, whose: list[str]) -> None:
    """The broker would take it: in Kafka, a plugin may read it."""
    failed = penstock("config", "set", *whose, "log.retention.msec=1", fails=True)
    assert "Unknown broker config name: log.retention.msec. Did you mean log.retention.ms?" in failed.stderr


def test_a_change_that_the_broker_refuses_is_one_line(penstock: Penstock, topic: str) -> None:
    assert "retention.ms" in penstock("config", "set", "topic", topic, "retention.ms=x", fails=True).stderr
    assert "no.such" in penstock("config", "set", "topic", topic, "no.such=x", fails=True).stderr
    failed = penstock("config", "set", "topic", topic + "x", "retention.ms=1", fails=True)
    assert failed.stderr == f"penstock: there is no topic {topic}x: did you mean {topic}?\n"
    failed = penstock("config", "describe", "broker", "77", fails=True)
    assert failed.stderr.startswith("penstock: there is no broker 77: there are ")


@pytest.mark.parametrize(
    ("kind", "setting", "value"),
    [("group", "consumer.session.timeout.ms", "50000"), ("client-metrics", "interval.ms", "60000")],
)
def test_groups_and_metrics_subscriptions_have_settings_too(
    penstock: Penstock, kind: str, setting: str, value: str
) -> None:
    penstock("config", "set", kind, "mine", f"{setting}={value}")
    (found,) = json.loads(penstock("config", "describe", kind, "mine", "--json").stdout)
    assert (found["name"], found["value"]) == (setting, value)
    penstock("config", "unset", kind, "mine", setting)
    assert json.loads(penstock("config", "describe", kind, "mine", "--json").stdout) == []
    assert "cannot change" in penstock("config", "set", kind, "mine", "nonsense=1", fails=True).stderr


def test_a_brokers_log_levels_are_shown_and_changed_while_it_runs(penstock: Penstock) -> None:
    def levels() -> dict[str, str]:
        shown = json.loads(penstock("config", "describe", "broker-logger", "--json").stdout)
        assert {each["source"] for each in shown} == {"dynamic broker logger"}
        return {each["name"]: each["value"] for each in shown}

    assert levels()["penstock.storage"] == levels()["root"] == "INFO"
    done = penstock("config", "set", "broker-logger", "penstock.storage=ERROR")
    assert done.stdout.endswith(": penstock.storage is ERROR\n")
    assert levels()["penstock.storage"] == "ERROR"
    assert levels()["penstock.storage.segment"] == "ERROR", "what has no level has that of its package"
    penstock("config", "unset", "broker-logger", "penstock.storage")
    assert levels()["penstock.storage"] == "INFO"
    failed = penstock("config", "set", "broker-logger", "penstock.storage=LOUD", fails=True)
    assert "Valid log levels are" in failed.stderr


def test_a_default_for_all_brokers_is_set_shown_and_unset(penstock: Penstock) -> None:
    done = penstock("config", "set", "brokers", "log.cleaner.backoff.ms=12345")
    assert done.stdout == "brokers: log.cleaner.backoff.ms is 12345\n"
    shown, of_every_cluster = json.loads(penstock("config", "describe", "brokers", "--json").stdout)
    assert of_every_cluster["name"] == "min.insync.replicas"
    assert (shown["name"], shown["value"], shown["source"]) == (
        "log.cleaner.backoff.ms",
        "12345",
        "dynamic default broker",
    )
    of_broker = json.loads(penstock("config", "describe", "broker", "--json").stdout)
    assert ("log.cleaner.backoff.ms", "12345") in [(each["name"], each["value"]) for each in of_broker]
    penstock("config", "unset", "brokers", "log.cleaner.backoff.ms")
    assert json.loads(penstock("config", "describe", "brokers", "--json").stdout) == [of_every_cluster]
    failed = penstock("config", "set", "brokers", "log.cleaner.backoff.ms=soon", fails=True)
    assert failed.stderr.startswith("penstock: cannot change brokers: ")
    assert "leave out the name" in penstock("config", "describe", "brokers", "1", fails=True).stderr
