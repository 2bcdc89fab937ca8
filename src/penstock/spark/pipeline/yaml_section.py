"""Reads a mapping of a YAML file key by key and notes every problem with its line.

The file is composed into nodes, not constructed into values: nodes know their lines, and YAML's own guesses (`on` is
true, `2024-01-01` is a date) stay out of the way, since whoever asks for a key says what kind of value it must be.
A getter that finds a problem notes it and gives a value of the right type, so that reading goes on to the next one.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import yaml

from penstock.spark.pipeline.durations import parse_duration_ms
from penstock.spark.pipeline.environment import substitute
from penstock.spark.pipeline.problems import Problem, did_you_mean, error

NOTHING_MISPLACED: Mapping[str, str] = MappingProxyType({})

_NULLS = ("", "~", "null", "Null", "NULL")
_INTEGER = re.compile(r"[+-]?\d+(_\d+)*")
_MERGE_DEPTH_MAX = 20


class Reading:
    """What is common to the whole file: the variables, and the problems found so far."""

    __slots__ = ("environment", "problems")

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.problems: list[Problem] = []

    def note(self, line: int, message: str) -> None:
        self.problems.append(error(line, message))


class Section:
    """A mapping of the file. `what` names it in messages: `step paid`, `source orders: decode`."""

    __slots__ = ("_asked", "_entries", "_is_mapping", "_reading", "line", "what")

    def __init__(self, reading: Reading, node: yaml.Node, what: str, line: int = 0) -> None:
        self._reading = reading
        self.what = what
        self.line = line or line_of(node)
        self._asked: dict[str, None] = {}
        self._entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        self._is_mapping = True
        if isinstance(node, yaml.MappingNode):
            self._entries = self._read_entries(node, 0)
        else:
            self.note(f"must be a mapping (`key: value` lines), not {kind_of(node)}")
            self._is_mapping = False  # that its keys are missing needs no saying

    def _read_entries(self, node: yaml.MappingNode, depth: int) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                self.note("a key must be a plain word", line_of(key_node))
            elif key == "<<" and depth < _MERGE_DEPTH_MAX:
                nodes = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for each in nodes:
                    if isinstance(each, yaml.MappingNode):
                        merged = self._read_entries(each, depth + 1) | merged
                    else:
                        self.note("`<<` merges mappings only", line_of(key_node))
            elif key in own:
                first = line_of(own[key][0])
                self.note(f"`{key}` stands here twice (first on line {first}): keep one", line_of(key_node))
            else:
                own[key] = (key_node, value_node)
        return merged | own

    # -- what is there

    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def has(self, key: str) -> bool:
        """Whether the key stands there at all; it counts as known from now on."""
        self._asked[key] = None
        return key in self._entries

    def node(self, key: str, *, required: bool = False) -> yaml.Node | None:
        """The value's node; a missing one that is required is noted."""
        if self.has(key):
            return self._entries[key][1]
        if required:
            self.note(f"`{key}` is missing")
        return None

    def line_at(self, key: str) -> int:
        return line_of(self._entries[key][0]) if key in self._entries else self.line

    def note(self, message: str, line: int = 0) -> None:
        if self._is_mapping:
            self._reading.note(line or self.line, f"{self.what}: {message}")

    def note_at(self, key: str, message: str) -> None:
        self.note(f"`{key}` {message}", self.line_at(key))

    def refuse_unknown(self, misplaced: Mapping[str, str] = NOTHING_MISPLACED) -> None:
        """Note keys nobody asked for. `misplaced` says of keys known elsewhere why they are wrong here."""
        for key in self._entries:
            if key in self._asked or key.startswith("x-"):
                continue
            if key in misplaced:
                self.note_at(key, misplaced[key])
                continue
            if is_null(self._entries[key][1]) and " " in key:  # {sql: SELECT a, b FROM t} is cut at its comma
                self.note(
                    f"`{key}` is cut off: inside {{…}} a text with commas needs quotes", self.line_at(key)
                )
                continue
            hint = did_you_mean(key, self._asked)
            known = hint or f": known here are {', '.join(f'`{name}`' for name in self._asked)}"
            self.note(f"unknown key `{key}`{known}", self.line_at(key))

    def one_of(self, keys: Sequence[str]) -> str | None:
        """The one of these keys that is there; none or several is noted."""
        there = sorted((key for key in keys if self.has(key)), key=self.line_at)
        if len(there) == 1:
            return there[0]
        listed = f"{', '.join(f'`{key}`' for key in keys[:-1])} or `{keys[-1]}`"
        if there:
            both = " and ".join(f"`{key}`" for key in there)
            self.note(f"has {both}: keep exactly one of {listed}", self.line_at(there[1]))
        else:
            self.note(f"needs exactly one of {listed}")
        return None

    # -- values by kind

    def text(self, key: str, *, required: bool = False) -> str | None:
        node = self.node(key, required=required)
        return None if node is None else self.text_of(node, key)

    def text_of(self, node: yaml.Node, key: str) -> str:
        """The text of a scalar with its variables filled in. Numbers and booleans are text as they were written."""
        if not isinstance(node, yaml.ScalarNode):
            self.note(f"`{key}` must be text, not {kind_of(node)}", line_of(node))
            return ""
        if is_null(node):
            self.note(f"`{key}` has no value: write one, or remove the key", line_of(node))
            return ""
        text, wrong = substitute(node.value, self._reading.environment)
        for message in wrong:
            self.note(f"`{key}`: {message}", line_of(node))
        return text

    def required_text(self, key: str) -> str:
        return self.text(key, required=True) or ""

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        text = self.text(key)
        if text is None:
            return default
        if text and text not in choices:
            listed = ", ".join(f"`{each}`" for each in choices)
            hint = did_you_mean(text, choices)
            self.note_at(key, f"cannot be `{text}`{hint or f': write one of {listed}'}")
            return default
        return text

    def integer(self, key: str, *, at_least: int = 1) -> int | None:
        text = self.text(key)
        if not text:
            return None
        if not _INTEGER.fullmatch(text) or int(text) < at_least:
            self.note_at(key, f"must be a whole number of at least {at_least}, not `{text}`")
            return None
        return int(text)

    def flag(self, key: str, *, default: bool) -> bool:
        text = self.text(key)
        if not text:
            return default
        if text.lower() not in {"true", "false"}:
            self.note_at(key, f"must be `true` or `false`, not `{text}`")
        return text.lower() == "true"

    def duration_ms(self, key: str, *, required: bool = False) -> int | None:
        text = self.text(key, required=required)
        if not text:
            return None
        try:
            return parse_duration_ms(text)
        except ValueError as wrong:
            self.note(f"`{key}`: {wrong}", self.line_at(key))
            return None

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        node = self.node(key, required=required)
        return () if node is None else self.texts_of(node, key)

    def texts_of(self, node: yaml.Node, key: str) -> tuple[str, ...]:
        if isinstance(node, yaml.SequenceNode):
            return tuple(self.text_of(item, key) for item in node.value)
        if isinstance(node, yaml.ScalarNode):
            return (self.text_of(node, key),)
        self.note(f"`{key}` must be a list, not {kind_of(node)}", line_of(node))
        return ()

    def items(self, key: str) -> list[yaml.Node]:
        node = self.node(key)
        if node is None or is_null(node):
            return []
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.note_at(key, f"must be a list (lines that begin with `-`), not {kind_of(node)}")
        return []

    def mapping(self, key: str) -> dict[str, str]:
        """A mapping of texts to texts, such as options."""
        inner = self.section(key)
        return {} if inner is None else {name: inner.required_text(name) for name in inner.names()}

    def section(self, key: str) -> "Section | None":
        node = self.node(key)
        return None if node is None or is_null(node) else self.section_of(node, key)

    def section_of(self, node: yaml.Node, key: str) -> "Section":
        return Section(self._reading, node, f"{self.what}: {key}", self.line_at(key))

    def part_of(self, node: yaml.Node, key: str) -> "Section":
        """As `section_of`, for one item of the list at `key`: it has a line of its own."""
        return Section(self._reading, node, f"{self.what}: {key}", line_of(node))

    def named_sections(self, key: str, kind: str) -> "list[tuple[str, Section]]":
        """The parts of a mapping by name: `sources` gives (`orders`, the section `source orders`), …"""
        outer = self.section(key)
        if outer is None:
            return []
        return [
            (name, Section(self._reading, value, f"{kind} {name}", line_of(key_node)))
            for name, (key_node, value) in outer._entries.items()  # noqa: SLF001 - another of its own class
        ]


def line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def text_line_of(node: yaml.Node) -> int:
    """Where the text of a scalar begins: a block (`|`, `>`) begins below its key."""
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
