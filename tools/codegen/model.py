"""What a message definition says, as plain values."""

from typing import Final

import msgspec

from tools.codegen.naming import snake_case

FIXED_SIZES: Final = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
VARIABLE: Final = frozenset({"string", "bytes", "records"})

Default = int | float | str | bool | None


class Versions(msgspec.Struct, frozen=True, array_like=True):
    """An inclusive range of versions; empty when `last` is below `first`."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __bool__(self) -> bool:
        return self.first <= self.last


NO_VERSIONS: Final = Versions(0, -1)
OPEN_END: Final = 0x7FFF


def parse_versions(text: str | None) -> Versions:
    """`"3"`, `"0-12"`, `"9+"` or `"none"`."""
    if text is None or text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), OPEN_END)
    first, _, last = text.partition("-")
    return Versions(int(first), int(last or first))


class Field(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field of a struct. `type` is a primitive's name or a struct's name; `is_array` makes it a list of those.

    `default` is None for null, and an empty string for an empty array, struct or uuid.
    """

    name: str
    type: str
    is_array: bool = False
    versions: Versions
    tagged_versions: Versions = NO_VERSIONS
    tag: int = -1
    nullable_versions: Versions = NO_VERSIONS
    flexible_versions: Versions | None = None
    default: Default = ""
    is_ignorable: bool = False

    @property
    def python_name(self) -> str:
        return snake_case(self.name)

    @property
    def is_struct(self) -> bool:
        return self.type not in FIXED_SIZES and self.type not in VARIABLE

    @property
    def is_fixed(self) -> bool:
        return not self.is_array and self.type in FIXED_SIZES

    @property
    def is_optional(self) -> bool:
        return bool(self.nullable_versions) or (self.type == "records" and not self.is_array)


class Struct(msgspec.Struct, frozen=True):
    name: str
    fields: tuple[Field, ...]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A request, a response, or a record: its root struct and the structs nested in it, by name."""

    kind: str
    name: str
    api_key: int | None
    versions: Versions
    flexible_versions: Versions
    root: Struct
    structs: dict[str, Struct]

    def in_order(self) -> list[Struct]:
        """Every struct, those that are used before those that use them; the root comes last."""
        done: dict[str, Struct] = {}

        def visit(struct: Struct) -> None:
            for each in struct.fields:
                if each.is_struct and each.type not in done:
                    visit(self.structs[each.type])
            done[struct.name] = struct

        visit(self.root)
        return list(done.values())

    def is_flexible(self, version: int) -> bool:
        return version in self.flexible_versions


class Model(msgspec.Struct, frozen=True):
    """Everything that code is generated from."""

    error_codes: dict[str, int]
    messages: list[Message]
