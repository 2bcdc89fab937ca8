"""Reads a mapping of a YAML file key by key and collects every problem with its line.

The file is composed into nodes, not constructed into values: nodes know their lines, and YAML does not guess types
(`on` is true, `2024-01-01` is a date), because the caller says what kind of value a key has. A getter that finds a
problem notes it and returns a neutral value, so that reading continues and finds the next one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from penstock.spark.durations import parse_duration_ms
from penstock.spark.pipeline.core.problems import Problem, did_you_mean, error, invalid_choice
from penstock.spark.pipeline.yaml.environment import substitute

_NULLS = ("", "~", "null", "Null", "NULL")
_INTEGER = re.compile(r"[+-]?\d+(_\d+)*")
_MERGE_DEPTH_MAX = 20


class Reading(msgspec.Struct, frozen=True):
    environment: Mapping[str, str]
    directory: str = "."  # of the file, to which the paths of secrets are relative
    problems: list[Problem] = []


class Section:
    """A mapping of the file. `what` names it in messages: `step paid`, `source orders: decode`."""

    __slots__ = ("_entries", "_is_mapping", "_known_keys", "_reading", "line", "what")

    def __init__(self, reading: Reading, node: yaml.Node, what: str, line: int = 0) -> None:
        self._reading = reading
        self.what = what
        self.line = line or line_of(node)
        self._known_keys: dict[str, None] = {}
        self._entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        self._is_mapping = True
        if isinstance(node, yaml.MappingNode):
            self._entries = self._read_entries(node, 0)
        else:
            self.add_problem(f"must be a mapping (`key: value` lines), not {kind_of(node)}")
            self._is_mapping = False  # report this once, not every missing key

    def _read_entries(self, node: yaml.MappingNode, depth: int) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                self.add_problem("a key must be a plain word", line_of(key_node))
            elif key == "<<" and depth < _MERGE_DEPTH_MAX:
                nodes = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for each in nodes:
                    if isinstance(each, yaml.MappingNode):
                        merged = self._read_entries(each, depth + 1) | merged
                    else:
                        self.add_problem("`<<` merges mappings only", line_of(key_node))
            elif key in own:
                first = line_of(own[key][0])
                self.add_problem(
                    f"`{key}` is here twice (first on line {first}): keep one", line_of(key_node)
                )
            else:
                own[key] = (key_node, value_node)
        return merged | own

    # -- keys

    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def has(self, key: str) -> bool:
        """Say whether the key is present; it counts as a known key from now on."""
        self._known_keys[key] = None
        return key in self._entries

    def node(self, key: str, *, required: bool = False) -> yaml.Node | None:
        if self.has(key):
            return self._entries[key][1]
        if required:
            self.add_problem(f"`{key}` is missing")
        return None

    def line_at(self, key: str) -> int:
        return line_of(self._entries[key][0]) if key in self._entries else self.line

    def add_problem(self, message: str, line: int = 0) -> None:
        if self._is_mapping:
            self._reading.problems.append(error(line or self.line, f"{self.what}: {message}"))

    def add_problem_at(self, key: str, message: str) -> None:
        self.add_problem(f"`{key}` {message}", self.line_at(key))

    def refuse_unknown(self, misplaced: Mapping[str, str] | None = None) -> None:
        """Note unknown keys. `misplaced` has the messages for keys that are known elsewhere."""
        for key in self._entries:
            if key in self._known_keys or key.startswith("x-"):
                continue
            if misplaced and key in misplaced:
                self.add_problem_at(key, misplaced[key])
                continue
            if is_null(self._entries[key][1]) and " " in key:  # {sql: SELECT a, b FROM t} is cut at its comma
                self.add_problem(
                    f"`{key}` is cut off: inside {{…}} a text with commas needs quotes", self.line_at(key)
                )
                continue
            hint = did_you_mean(key, self._known_keys)
            known = hint or f": known here are {', '.join(f'`{name}`' for name in self._known_keys)}"
            self.add_problem(f"unknown key `{key}`{known}", self.line_at(key))

    def exactly_one_of(self, keys: Sequence[str]) -> str | None:
        """Return the one of these keys that is present; note a problem if there are none or several."""
        present = sorted((key for key in keys if self.has(key)), key=self.line_at)
        if len(present) == 1:
            return present[0]
        listed = f"{', '.join(f'`{key}`' for key in keys[:-1])} or `{keys[-1]}`"
        if present:
            both = " and ".join(f"`{key}`" for key in present)
            self.add_problem(f"has {both}: keep exactly one of {listed}", self.line_at(present[1]))
        else:
            self.add_problem(f"needs exactly one of {listed}")
        return None

    # -- values

    def text(self, key: str, *, required: bool = False) -> str | None:
        node = self.node(key, required=required)
        return None if node is None else self.text_of(node, key)

    def text_of(self, node: yaml.Node, key: str) -> str:
        """Return the text of a scalar with its variables filled in; numbers and booleans as they were written."""
        if not isinstance(node, yaml.ScalarNode):
            self.add_problem(f"`{key}` must be text, not {kind_of(node)}", line_of(node))
            return ""
        if is_null(node):
            self.add_problem(f"`{key}` has no value: write one, or remove the key", line_of(node))
            return ""
        text, wrong = substitute(node.value, self._reading.environment, self._reading.directory)
        for message in wrong:
            self.add_problem(f"`{key}`: {message}", line_of(node))
        return text

    def required_text(self, key: str) -> str:
        return self.text(key, required=True) or ""

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        text = self.text(key)
        if text and text not in choices:
            self.add_problem_at(key, invalid_choice(text, choices))
            return None
        return text or None

    def integer(self, key: str, *, minimum: int = 1) -> int | None:
        text = self.text(key)
        if not text:
            return None
        if not _INTEGER.fullmatch(text) or int(text) < minimum:
            self.add_problem_at(key, f"must be a whole number of at least {minimum}, not `{text}`")
            return None
        return int(text)

    def flag(self, key: str) -> bool | None:
        text = self.text(key)
        if not text:
            return None
        if text.lower() not in {"true", "false"}:
            self.add_problem_at(key, f"must be `true` or `false`, not `{text}`")
        return text.lower() == "true"

    def duration_ms(self, key: str, *, required: bool = False) -> int | None:
        text = self.text(key, required=required)
        if not text:
            return None
        try:
            return parse_duration_ms(text)
        except ValueError as wrong:
            self.add_problem(f"`{key}`: {wrong}", self.line_at(key))
            return None

    def is_text(self, key: str) -> bool:
        node = self.node(key)
        return isinstance(node, yaml.ScalarNode) and not is_null(node)

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """Read a list of texts; a single text is a list of one."""
        node = self.node(key, required=required)
        if node is None:
            return ()
        if isinstance(node, yaml.SequenceNode):
            return tuple(self.text_of(item, key) for item in node.value)
        if isinstance(node, yaml.ScalarNode):
            return (self.text_of(node, key),)
        self.add_problem(f"`{key}` must be a list, not {kind_of(node)}", line_of(node))
        return ()

    def items(self, key: str) -> list[yaml.Node]:
        node = self.node(key)
        if node is None or is_null(node):
            return []
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.add_problem_at(key, f"must be a list (lines that begin with `-`), not {kind_of(node)}")
        return []

    def mapping(self, key: str, key_type: type = str) -> dict[Any, str]:
        inner = self.section(key)
        found: dict[Any, str] = {}
        for name in inner.names() if inner is not None else ():
            assert inner is not None
            if key_type is int and not name.isdecimal():
                inner.add_problem_at(name, "must be a number")
            else:
                found[key_type(name)] = inner.required_text(name)
        return found

    def section(self, key: str) -> "Section | None":
        node = self.node(key)
        return None if node is None or is_null(node) else self.section_of(node, key)

    def section_of(self, node: yaml.Node, key: str, line: int = 0) -> "Section":
        return Section(self._reading, node, f"{self.what}: {key}", line or self.line_at(key))

    def named_sections(self, key: str, kind: str) -> "list[tuple[str, Section]]":
        """Return the parts of a mapping by name: for `sources`, (`orders`, the section `source orders`), …"""
        outer = self.section(key)
        if outer is None:
            return []
        return [
            (name, Section(self._reading, value, f"{kind} {name}", line_of(key_node)))
            for name, (key_node, value) in outer._entries.items()  # noqa: SLF001 - another instance of this class
        ]


def line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def text_line_of(node: yaml.Node) -> int:
    """Return the line where the text of a scalar begins: a block (`|`, `>`) begins below its key."""
    is_block = isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}
    return line_of(node) + (1 if is_block else 0)


def is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.value in _NULLS


def kind_of(node: yaml.Node) -> str:
    if is_null(node):
        return "nothing"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, yaml.SequenceNode) else "text"
