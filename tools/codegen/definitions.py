"""Reads definition files (JSON with `//` comment lines, one message in each) and the model made from them."""

import json
from pathlib import Path
from typing import Any

import msgspec

from tools.codegen.model import Default, Field, Message, Model, Struct, parse_versions
from tools.codegen.naming import DefinitionError

ERROR_CODES_FILE = "error_codes.json"


def load_messages(directory: Path) -> list[Message]:
    """Read the messages of a directory that have a valid version."""
    paths = sorted(path for path in directory.glob("*.json") if path.name != ERROR_CODES_FILE)
    definitions = [read_json(path) for path in paths]
    return [message_from(each) for each in definitions if parse_versions(each["validVersions"])]


def load_error_codes(directory: Path) -> dict[str, int]:
    return read_json(directory / ERROR_CODES_FILE)


def save_model(model: Model, path: Path) -> None:
    """Write one line for the error codes, then one for each message, so that a change is easy to see."""
    lines = [msgspec.json.encode(model.error_codes), *map(msgspec.json.encode, model.messages)]
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def read_model(path: Path) -> Model:
    codes, *messages = path.read_bytes().splitlines()
    return Model(
        msgspec.json.decode(codes, type=dict[str, int]),
        [msgspec.json.decode(message, type=Message) for message in messages],
    )


def read_json(path: Path) -> dict[str, Any]:
    lines = path.read_text(encoding="utf-8").splitlines()
    parsed: dict[str, Any] = json.loads(
        "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    )
    return parsed


def message_from(definition: dict[str, Any]) -> Message:
    structs: dict[str, Struct] = {}
    for common in definition.get("commonStructs", ()):
        _add_struct(structs, common["name"], common["fields"])
    fields = _fields(structs, definition["fields"])
    return Message(
        kind=definition["type"],
        name=definition["name"],
        api_key=definition.get("apiKey"),
        versions=parse_versions(definition["validVersions"]),
        flexible_versions=parse_versions(definition["flexibleVersions"]),
        root=Struct(definition["name"], fields),
        structs=structs,
    )


def _add_struct(structs: dict[str, Struct], name: str, fields: list[dict[str, Any]]) -> None:
    struct = Struct(name, _fields(structs, fields))
    if structs.setdefault(name, struct) != struct:
        raise DefinitionError(f"struct {name} is defined twice")


def _fields(structs: dict[str, Struct], definitions: list[dict[str, Any]]) -> tuple[Field, ...]:
    return tuple(_field(structs, definition) for definition in definitions)


def _field(structs: dict[str, Struct], definition: dict[str, Any]) -> Field:
    is_array = definition["type"].startswith("[]")
    type_name = definition["type"].removeprefix("[]")
    if definition.get("fields"):
        _add_struct(structs, type_name, definition["fields"])
    tagged_versions = definition.get("taggedVersions")
    flexible_versions = definition.get("flexibleVersions")
    nullable_versions = parse_versions(definition.get("nullableVersions"))
    return Field(
        name=definition["name"],
        type=type_name,
        is_array=is_array,
        versions=parse_versions(definition.get("versions", tagged_versions)),
        tagged_versions=parse_versions(tagged_versions),
        tag=definition.get("tag", -1),
        nullable_versions=nullable_versions,
        flexible_versions=None if flexible_versions is None else parse_versions(flexible_versions),
        default=_default(type_name, is_array, definition),
        is_ignorable=definition.get("ignorable", False),
    )


def _default(type_name: str, is_array: bool, definition: dict[str, Any]) -> Default:
    """The default value; None is null. An empty array, struct and uuid are all written as an empty string."""
    if "default" not in definition:
        if is_array:
            return ""
        return {"bool": False, "float64": 0.0, "records": None}.get(
            type_name, 0 if "int" in type_name and type_name.islower() else ""
        )
    value = definition["default"]
    if value is None or value == "null":
        return None
    if type_name == "bool":
        return value in (True, "true")
    if type_name == "float64":
        return float(value)
    if type_name.startswith(("int", "uint")):
        return int(str(value), 0)
    if type_name == "string" and not is_array:
        return str(value)
    raise DefinitionError(f"{definition['name']}: default {value!r} of a {definition['type']}")
