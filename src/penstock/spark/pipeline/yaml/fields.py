"""Reads the fields of a struct from a section of a YAML file, each as its type says.

The key is the name of the field. A field `…_ms` is a duration, under its name without `_ms`; `Annotated[str, (…)]` is
one of these words; a field without a default is required. So a new setting needs nothing but its field in the model.
"""

import enum
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from penstock.spark.pipeline.core.model import Shorthand
from penstock.spark.pipeline.core.problems import choices_of
from penstock.spark.pipeline.yaml.section import Section

_S = TypeVar("_S", bound=msgspec.Struct)


def read_struct(section: Section, kind: type[_S], **given: Any) -> _S:
    """Read all fields that are not `given`, and refuse keys that are none of them."""
    values = read_fields(section, kind, skip=given)
    section.refuse_unknown()
    return kind(**{"line": section.line, **values, **given})


def read_fields(section: Section, kind: type[msgspec.Struct], skip: Any = ()) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    fields = [each for each in msgspec.structs.fields(kind) if each.name != "line" and each.name not in skip]
    values = {each.name: read_field(section, each, hints[each.name]) for each in fields}
    return {name: value for name, value in values.items() if value is not None}


def read_field(section: Section, field: msgspec.structs.FieldInfo, hint: Any, key: str = "") -> Any:
    """Read one field from `key`, by default from its own name. None: use the default."""
    key = key or key_of(field.name)
    kind, required = _base_type(hint), field.required
    if field.name.endswith("_ms"):
        found: Any = section.duration_ms(key, required=required)
        return 0 if found is None and required else found
    if choices := choices_of(hint):
        return section.choice(key, choices)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        word = section.choice(key, [each.value for each in kind])
        return None if word is None else kind(word)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        inner = section.section(key)
        return None if inner is None else read_struct(inner, kind)
    if kind is bool:
        return section.flag(key)
    if kind is int:
        return section.integer(key, minimum=_minimum(hint))
    if get_origin(kind) is tuple:
        return section.texts(key, required=required) if required or section.has(key) else None
    if get_origin(kind) is dict:
        shorthand = next((each.key for each in get_args(hint) if isinstance(each, Shorthand)), None)
        if shorthand is not None and section.is_text(key):
            return {shorthand: section.text(key)}
        return section.mapping(key, key_type=get_args(kind)[0])
    text = section.text(key, required=required)
    return "" if text is None and required else text


def key_of(field: str) -> str:
    return field.removesuffix("_ms")


def read_value(section: Section, key: str, kind: type[msgspec.Struct], field: str) -> Any:
    """Read the one field that the value of `key` itself sets, such as the condition of `filter: amount > 0`."""
    info = next(each for each in msgspec.structs.fields(kind) if each.name == field)
    return read_field(section, info, get_type_hints(kind, include_extras=True)[field], key)


def _base_type(hint: Any) -> Any:
    """The type without its annotations and without None; of a union, the first member."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (None, tuple, dict):
        return hint
    members = [each for each in get_args(hint) if each is not type(None)]
    return members[0]


def _minimum(hint: Any) -> int:
    metas = [each for each in get_args(hint) if isinstance(each, msgspec.Meta)]
    return int(metas[0].ge or 0) if metas else 1
