"""Hypothesis strategies for every version of every message, drawn from the model behind the generated modules."""

import importlib
import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.protocol.wire import ZERO_UUID
from tools.codegen.__main__ import MODEL
from tools.codegen.definitions import read_model
from tools.codegen.layout import FieldLayout, Layouts
from tools.codegen.model import Field, Message, Model, Struct
from tools.codegen.modules import Module, group_into_modules
from tools.codegen.names import Member

_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


class Case(NamedTuple):
    """One message and everything that is needed to draw, encode and decode it."""

    module_name: str
    member: Member

    @property
    def message(self) -> Message:
        return self.member.message

    @property
    def name(self) -> str:
        return self.message.name

    @property
    def versions(self) -> range:
        return range(self.message.versions.first, self.message.versions.last + 1)

    def alike(self) -> list[list[int]]:
        """The versions in groups that look the same on the wire, so that one value fits all of a group."""
        layouts, groups = Layouts(self.message), dict[int, list[int]]()
        for version in self.versions:
            groups.setdefault(layouts.first_version(self.message.root, version), []).append(version)
        return list(groups.values())

    def module(self) -> Any:
        return importlib.import_module(f"penstock.protocol.messages.{self.module_name}")

    def encode(self, value: Any, version: int) -> bytes:
        encoded: bytes = getattr(self.module(), f"encode{self.member.suffix}")(value, version)
        return encoded

    def decode(self, data: bytes | memoryview, version: int) -> Any:
        return getattr(self.module(), f"decode{self.member.suffix}")(data, version)


@cache
def model() -> Model:
    return read_model(MODEL)


def _cases_of(module: Module) -> list[Case]:
    return [Case(module.name, member) for member in module.members]


CASES = [case for module in group_into_modules(model().messages) for case in _cases_of(module)]
CASE_OF = {case.name: case for case in CASES}

# For checks of every version of every message, where few examples of each are many. EXAMPLES asks for more.
QUICK = settings(
    max_examples=int(os.environ.get("EXAMPLES", "4")),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

Override = Callable[[Field], st.SearchStrategy[Any] | None]


def _no_override(field: Field) -> st.SearchStrategy[Any] | None:
    return None


class _Values:
    """Strategies for the structs of one version of a message. `override` may replace that of a primitive field."""

    def __init__(self, case: Case, version: int, override: Override) -> None:
        self._case = case
        self._version = version
        self._override = override
        self._layouts = Layouts(case.message)

    def struct(self, struct: Struct) -> st.SearchStrategy[Any]:
        layout = self._layouts.in_version(struct, self._version, self._version)
        python_class = getattr(self._case.module(), self._case.member.class_name(struct))
        fields = {each.field.python_name: self._field(each) for each in (*layout.regular, *layout.tagged)}
        return st.builds(python_class, **fields)

    def _field(self, layout: FieldLayout) -> st.SearchStrategy[Any]:
        field = layout.field
        value = self._override(field)
        if value is None:
            value = self._element(field)
        if field.is_array:
            value = st.lists(value, max_size=2)
        return st.none() | value if layout.is_nullable else value

    def _element(self, field: Field) -> st.SearchStrategy[Any]:
        if field.is_struct:
            return self.struct(self._case.member.struct_named(field.type))
        return primitive(field.type)


def primitive(type_name: str) -> st.SearchStrategy[Any]:
    if type_name in _RANGES:
        return st.integers(*_RANGES[type_name])
    if type_name == "bool":
        return st.booleans()
    if type_name == "float64":
        return st.floats(allow_nan=False)
    if type_name == "string":
        return st.text(max_size=5) | st.just("x" * 130)
    if type_name == "uuid":
        return st.just(ZERO_UUID) | st.binary(min_size=16, max_size=16)
    return st.binary(max_size=5) | st.just(b"y" * 130)


def values(name: str, version: int, override: Override = _no_override) -> st.SearchStrategy[Any]:
    """Instances of the message that this version can encode."""
    case = CASE_OF[name]
    return _Values(case, version, override).struct(case.message.root)


def samples(name: str, version: int, override: Override = _no_override) -> list[Any]:
    """A few instances, in the number that EXAMPLES asks for."""
    found: list[Any] = []

    @QUICK
    @given(values(name, version, override))
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found
