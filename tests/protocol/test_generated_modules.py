"""The committed modules are the output of the generator, and the generator refuses definitions that it cannot use."""

from pathlib import Path
from typing import Any

import pytest

from tests.protocol.message_strategies import model
from tools.codegen import __main__ as codegen
from tools.codegen.definitions import message_from
from tools.codegen.generate import generate
from tools.codegen.model import NO_VERSIONS, OPEN_END, Versions, parse_versions
from tools.codegen.modules import emit_module, group_into_modules
from tools.codegen.naming import DefinitionError, snake_case


def test_the_committed_modules_and_model_match_the_generators_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the repository alone, as in a bare clone."""
    committed = {path.name: path.read_text() for path in codegen.MODULES.glob("*.py")}
    committed_model = codegen.MODEL.read_bytes()
    copy = tmp_path / "messages.json"
    copy.write_bytes(committed_model)
    (tmp_path / "forgotten.py").write_text("")
    monkeypatch.setattr(codegen, "MODEL", copy)
    monkeypatch.setattr(codegen, "MODULES", tmp_path)
    assert codegen.main([]) == 0
    written = {path.name: path.read_text() for path in tmp_path.glob("*.py")}
    assert written.keys() == committed.keys(), "a stale module is removed"
    assert [name for name, text in written.items() if committed[name] != text] == []
    assert copy.read_bytes() == committed_model


def test_definition_files_replace_all_but_the_metadata_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "error_codes.json").write_text('{"NONE": 0}')
    (tmp_path / "Mark.json").write_text(
        '// A comment.\n{"type": "data", "name": "Mark", "validVersions": "0", "flexibleVersions": "none",\n'
        '"fields": [{"name": "Size", "type": "int32", "versions": "0+"}]}'
    )
    (tmp_path / "Gone.json").write_text('{"type": "data", "name": "Gone", "validVersions": "none"}')
    output = tmp_path / "output"
    output.mkdir()
    monkeypatch.setattr(codegen, "MODEL", tmp_path / "output" / "messages.json")
    monkeypatch.setattr(codegen, "MODULES", output)
    assert codegen.main(["--definitions", str(tmp_path)]) == 0
    written = sorted(path.name for path in output.glob("*.py"))
    assert written == ["__init__.py", "api_table.py", "error_codes.py", "mark.py", "metadata_records.py"]
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


def test_elements_without_bytes_are_refused_because_their_number_would_be_unbounded() -> None:
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


def test_structs_that_share_a_name_are_distinguished_by_their_message() -> None:
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
