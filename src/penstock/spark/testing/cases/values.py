"""Reads the values of a case: JSON's types, and `!!binary` for bytes in base64. No I/O.

YAML takes `2026-03-01` for a date and `yes` for true; records and rows have texts there. So only JSON's own words and
numbers have a type here, and any other plain text is text.
"""

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import yaml

from penstock.spark.pipeline.yaml.section import is_null, line_of

_BINARY = "tag:yaml.org,2002:binary"


class CaseLoader(yaml.SafeLoader):
    """A loader whose plain scalars are JSON's, with `<<` for merges."""


CaseLoader.yaml_implicit_resolvers = {}


def _resolve(kind: str, pattern: str, first: str) -> None:
    CaseLoader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(pattern), list(first))


_resolve("bool", r"^(?:true|false)$", "tf")
_resolve("null", r"^(?:null|~|)$", "n~")
CaseLoader.yaml_implicit_resolvers.setdefault("", []).append(("tag:yaml.org,2002:null", re.compile(r"^$")))
_resolve("int", r"^-?(?:0|[1-9][0-9]*)$", "-0123456789")
_resolve("float", r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$", "-0123456789")
_resolve("merge", r"^<<$", "<")


def _construct_bytes(loader: CaseLoader, node: yaml.ScalarNode) -> bytes:
    """YAML's own constructor ignores characters that are not base64."""
    try:
        return base64.b64decode("".join(loader.construct_scalar(node).split()), validate=True)
    except ValueError as wrong:
        raise yaml.constructor.ConstructorError(
            None, None, f"`!!binary` is not base64: {wrong}", node.start_mark
        ) from None


CaseLoader.add_constructor(_BINARY, _construct_bytes)

OnProblem = Callable[[str, int], None]


def read_value(node: yaml.Node, on_problem: OnProblem) -> Any:
    """Return the value of a node: a mapping, list, text, number, boolean, null or bytes."""
    try:
        return CaseLoader("").construct_object(node, deep=True)
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark
        on_problem(str(wrong.problem), mark.line + 1 if mark is not None else line_of(node))
    except (ValueError, TypeError) as wrong:
        on_problem(str(wrong), line_of(node))
    return None


def read_bytes(node: yaml.Node, on_problem: OnProblem) -> bytes | None:
    """Return what a record holds: a mapping or list as JSON, `!!binary` decoded, other text as it stands."""
    if is_null(node):
        return None
    if isinstance(node, yaml.ScalarNode) and node.tag != _BINARY:
        return str(node.value).encode()
    value = read_value(node, on_problem)
    if isinstance(value, bytes):
        return value
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except TypeError:
        on_problem("`!!binary` cannot be inside JSON: write it for the whole value", line_of(node))
        return None
