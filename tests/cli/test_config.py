import json

import pytest

from penstock.cli.config import Kind, Operation, split_arguments
from penstock.cli.errors import CommandError
from penstock.cli.main import run
from penstock.config.table import BROKER, GROUP, TOPIC


@pytest.mark.parametrize(
    ("kind", "arguments", "operation", "expected"),
    [
        ("topic", ["t", "a=1", "b="], "SET", ("t", {"a": "1", "b": ""})),
        ("topic", ["t", "a", "b"], "DELETE", ("t", {"a": None, "b": None})),
        ("broker", ["3", "a=1"], "APPEND", ("3", {"a": "1"})),
        ("broker", ["a=1"], "SET", (None, {"a": "1"})),
        ("broker", ["a"], "DELETE", (None, {"a": None})),
    ],
)
def test_whose_settings_comes_first_and_a_brokers_number_may_be_left_out(
    kind: Kind, arguments: list[str], operation: Operation, expected: object
) -> None:
    assert split_arguments(kind, arguments, operation) == expected


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
        split_arguments(kind, arguments, operation)


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
