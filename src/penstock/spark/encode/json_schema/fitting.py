"""Fits the type of a column to a JSON Schema, and prepares values for JSON. No I/O.

Types and names are compared where the schema states them directly or behind a local `$ref`; where it says `oneOf` and
the like, only the validation of each value decides. Nulls are left out unless the schema requires the field.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import types

from penstock.spark.encode.batch import EncoderError, joined, refuse_value
from penstock.spark.encode.json_schema.schema import describe_type

Prepare = Callable[[Any], Any] | None
Node = Mapping[str, Any]

_DEPTH_MAX = 64


def fit(kind: pa.DataType, root: Any) -> Prepare:
    """Return a function that prepares the values; None: they need no preparation."""
    return _Fitting(root).fit(kind, root, "")


class _Fitting:
    def __init__(self, root: Any) -> None:
        self._root = root

    def fit(self, kind: pa.DataType, node: Any, path: str) -> Prepare:
        resolved = self._resolve(node)
        _check_type(kind, resolved, path)
        if types.is_floating(kind):
            return _finite_check(path)
        if isinstance(kind, pa.StructType):
            return self._fit_object(kind, resolved, path)
        if isinstance(kind, pa.ListType | pa.LargeListType):
            items = self.fit(kind.value_type, resolved.get("items", {}), f"{path}[]")
            if items is None:
                return None
            return lambda value: [None if each is None else items(each) for each in value]
        if isinstance(kind, pa.MapType):
            values = self.fit(kind.item_type, resolved.get("additionalProperties", {}), f"{path}{{}}")
            if values is None:
                return None
            return lambda value: {
                name: None if each is None else values(each) for name, each in value.items()
            }
        return None

    def _fit_object(self, kind: pa.StructType, node: Node, path: str) -> Prepare:
        properties = node.get("properties", {})
        required = frozenset(node.get("required", ()))
        columns = [field.name for field in kind]
        for name in sorted(required.difference(columns)):
            raise EncoderError(f"column {joined(path, name)} is missing: the schema requires it")
        if node.get("additionalProperties") is False and "patternProperties" not in node:
            for name in columns:
                if name not in properties:
                    raise EncoderError(
                        f"column {joined(path, name)} is not in the schema, which allows no other: "
                        "add it there, or drop it"
                    )
        fields = [
            (
                field.name,
                self.fit(field.type, properties.get(field.name, {}), joined(path, field.name)),
                field.name in required,
            )
            for field in kind
        ]

        def prepare(value: dict[str, Any]) -> dict[str, Any]:
            made = {}
            for name, inner, keeps_null in fields:
                each = value[name]
                if each is not None:
                    made[name] = each if inner is None else inner(each)
                elif keeps_null:
                    made[name] = None
            return made

        return prepare

    def _resolve(self, node: Any) -> Node:
        """Follow local references; a node that says nothing about types directly is empty."""
        for _ in range(_DEPTH_MAX):
            if not isinstance(node, dict):
                return {}
            target = node.get("$ref")
            if not isinstance(target, str) or not target.startswith("#"):
                return node
            node = self._root
            for part in target[1:].split("/")[1:]:
                name = part.replace("~1", "/").replace("~0", "~")
                node = node.get(name) if isinstance(node, dict) else None
        return {}


def _check_type(kind: pa.DataType, node: Node, path: str) -> None:
    stated = node.get("type")
    allowed = [stated] if isinstance(stated, str) else stated
    written = describe_type(kind, path)["type"]
    if allowed and written not in allowed and not (written == "integer" and "number" in allowed):
        where = f"column {path}" if path else "the value"
        raise EncoderError(
            f"{where}: {kind} is written as {written}, but the schema has {' or '.join(allowed)}: cast it"
        )


def _finite_check(path: str) -> Prepare:
    def check(value: float) -> float:
        if not math.isfinite(value):
            raise refuse_value(path, value, "is no number in JSON")
        return value

    return check
