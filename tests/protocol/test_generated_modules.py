"""The committed modules are what the generator makes of the definitions, and the generator refuses what it must."""

import os
from typing import Any

import pytest

from tests.protocol.message_strategies import model
from tools.codegen.__main__ import main
from tools.codegen.definitions import load_model, message_from, read_json
from tools.codegen.generate import generate
from tools.codegen.model import NO_VERSIONS, OPEN_END, Message, Versions, parse_versions
from tools.codegen.modules import emit_module, group_into_modules
from tools.codegen.naming import DefinitionError, snake_case

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODULES = os.path.join(REPOSITORY, "src", "penstock", "protocol", "messages")
METADATA_RECORDS = os.path.join(REPOSITORY, "tools", "codegen", "metadata_records")
KAFKA_MESSAGES = os.path.join(REPOSITORY, "..", "shared", "kafka-messages")


def committed_modules() -> dict[str, str]:
    modules = {}
    for name in os.listdir(MODULES):
        if name.endswith(".py"):
            with open(os.path.join(MODULES, name), encoding="utf-8") as file:
                modules[name] = file.read()
    return modules


def test_the_committed_modules_are_what_the_generator_makes_of_the_model() -> None:
    generated, committed = generate(model()), committed_modules()
    assert generated.keys() == committed.keys()
    assert [name for name, text in generated.items() if committed[name] != text] == []


def test_the_model_says_what_the_definitions_say() -> None:
    """Kafka's definitions are not part of the repository; without them its own records are still compared."""
    if os.path.isdir(KAFKA_MESSAGES):
        assert load_model([KAFKA_MESSAGES, METADATA_RECORDS]) == model()
    else:
        known = [message for message in model().messages if message.kind == "metadata"]
        assert load_definitions_of_records() == known


def load_definitions_of_records() -> list[Message]:
    names = sorted(name for name in os.listdir(METADATA_RECORDS) if name.endswith(".json"))
    return [message_from(read_json(os.path.join(METADATA_RECORDS, name))) for name in names]


def test_the_command_writes_the_modules_and_removes_stale_ones(tmp_path: Any) -> None:
    definitions, output = tmp_path / "definitions", tmp_path / "output"
    definitions.mkdir()
    output.mkdir()
    (output / "forgotten.py").write_text("")
    (definitions / "error_codes.json").write_text('{"NONE": 0}')
    (definitions / "Mark.json").write_text(
        '// A comment.\n{"type": "data", "name": "Mark", "validVersions": "0", "flexibleVersions": "none",\n'
        '"fields": [{"name": "Size", "type": "int32", "versions": "0+"}]}'
    )
    assert main([str(definitions), str(output)]) == 0
    assert sorted(os.listdir(output)) == ["__init__.py", "api_table.py", "error_codes.py", "mark.py"]
    scope: dict[str, Any] = {"__name__": "mark"}
    exec((output / "mark.py").read_text(), scope)
    assert scope["encode"](scope["Mark"](size=3), 0) == b"\x00\x00\x00\x03"


@pytest.mark.parametrize(
    ("text", "versions"),
    [("3", Versions(3, 3)), ("0-12", Versions(0, 12)), ("9+", Versions(9, OPEN_END)), ("none", NO_VERSIONS)],
)
def test_version_ranges_are_read_as_kafka_writes_them(text: str, versions: Versions) -> None:
    assert parse_versions(text) == versions


@pytest.mark.parametrize(
    ("name", "python_name"),
    [("TopicId", "topic_id"), ("KRaftVersion", "kraft_version"), ("IsrWithEpochs", "isr_with_epochs")],
)
def test_names_become_snake_case(name: str, python_name: str) -> None:
    assert snake_case(name) == python_name


def emitted(**changes: Any) -> str:
    definition = {
        "type": "data",
        "name": "Thing",
        "validVersions": "0-1",
        "flexibleVersions": "none",
        "fields": [],
    }
    return emit_module(group_into_modules([message_from(definition | changes)])[0])


def test_elements_of_no_bytes_are_refused_since_nothing_would_bound_their_number() -> None:
    later = [{"name": "Later", "type": "int32", "versions": "1+"}]
    fields = [{"name": "Things", "type": "[]Part", "versions": "0+", "fields": later}]
    with pytest.raises(DefinitionError, match="no bytes"):
        emitted(fields=fields)


@pytest.mark.parametrize(
    ("field", "complaint"),
    [
        ({"name": "Class", "type": "int8", "versions": "0+"}, "class cannot be the name"),
        ({"name": "Wide", "type": "uuid", "versions": "0+", "default": "1"}, "default '1' of a uuid"),
    ],
)
def test_a_field_that_cannot_become_python_is_refused(field: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        emitted(fields=[field])


def test_a_message_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(DefinitionError, match="unknown type"):
        emitted(type="rumour")


def test_structs_that_share_a_name_are_told_apart_by_their_message() -> None:
    text = generate(model())["describe_topic_partitions.py"]
    assert "class RequestCursor(" in text
    assert "class ResponseCursor(" in text
    assert "class Cursor(" not in text


def test_adjacent_fields_of_fixed_size_are_packed_at_once() -> None:
    fields = [
        {"name": "First", "type": "int32", "versions": "0+"},
        {"name": "Second", "type": "uuid", "versions": "0+"},
        {"name": "Third", "type": "bool", "versions": "1+"},
    ]
    text = emitted(fields=fields)
    assert 'struct.Struct(">i16s")' in text
    assert 'struct.Struct(">i16s?")' in text
    assert "third" in text.split("def _read_thing_v1")[1]
    assert "third" not in text.split("def _read_thing_v0")[1].split("def ")[0]
