"""Reads definition files: JSON with `//` comment lines, one message in each."""

import json
import os
from typing import Any

import msgspec

from tools.codegen.model import Default, Field, Message, Model, Struct, parse_versions
from tools.codegen.naming import DefinitionError

ERROR_CODES_FILE = "error_codes.json"


def load_model(directories: list[str]) -> Model:
    """Every message that has a valid version, ordered by name, and the error codes."""
    messages: list[Message] = []
    for directory in directories:
        for name in sorted(os.listdir(directory)):
            if not name.endswith(".json") or name == ERROR_CODES_FILE:
                continue
            definition = read_json(os.path.join(directory, name))
            if parse_versions(definition["validVersions"]):
                messages.append(message_from(definition))
    messages.sort(key=lambda message: message.name)
    return Model(load_error_codes(directories), messages)


def load_error_codes(directories: list[str]) -> dict[str, int]:
    for directory in directories:
        path = os.path.join(directory, ERROR_CODES_FILE)
        if os.path.exists(path):
            codes: dict[str, int] = read_json(path)
            return codes
    raise DefinitionError(f"no {ERROR_CODES_FILE} in {directories}")


def save_model(model: Model, path: str) -> None:
    """One line for the error codes, then one for each message, so that a change is easy to see."""
    lines = [msgspec.json.encode(model.error_codes), *map(msgspec.json.encode, model.messages)]
    with open(path, "wb") as file:
        file.writelines(line + b"\n" for line in lines)


def read_model(path: str) -> Model:
    with open(path, "rb") as file:
        codes, *messages = file.read().splitlines()
    return Model(
        msgspec.json.decode(codes, type=dict[str, int]),
        [msgspec.json.decode(message, type=Message) for message in messages],
    )


def read_json(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.lstrip().startswith("//")]
    parsed: dict[str, Any] = json.loads("".join(lines))
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
