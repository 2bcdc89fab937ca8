"""One setting: its name, type, default, bounds, documentation and how it may change.

Values come as text (a file, `--set`, an AlterConfigs request) and go back as text (DescribeConfigs), so a
property knows how to parse and how to render its value. The error messages follow the wording Kafka's admin
clients and users know: `Invalid value X for configuration NAME: reason`.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

T_co = TypeVar("T_co", covariant=True)

Value = bool | int | float | str | tuple[str, ...] | None

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
SHORT_MIN, SHORT_MAX = -(2**15), 2**15 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


class ConfigError(Exception):
    """An invalid setting; the message says which, why, and what would be valid."""


class Kind(enum.IntEnum):
    """The type of a value; the numbers are those of DescribeConfigs responses."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Live(enum.Enum):
    """Whether a change applies without a restart, and to how many brokers at once (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


_INTEGER_RANGES = {
    Kind.INT: (INT_MIN, INT_MAX),
    Kind.SHORT: (SHORT_MIN, SHORT_MAX),
    Kind.LONG: (LONG_MIN, LONG_MAX),
}

Check = Callable[[str, Value], str | None]
"""Given the property's name and the parsed value, returns the reason why it is invalid, or None."""


class Property(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True, eq=False):
    """One row of the table. `config[PROPERTY]` has the type of the property's value."""

    name: str
    kind: Kind
    default: Value
    doc: str
    at_least: float | None = None
    at_most: float | None = None
    choices: tuple[str, ...] = ()
    check: Check | None = None
    live: Live = Live.READ_ONLY
    synonyms: tuple[
        str, ...
    ] = ()  # of a topic setting: the broker settings with its default, in the order of precedence
    scale: int = 1  # of such a broker setting: its unit in the unit of the topic setting
    ignored: bool = False  # accepted for compatibility, without effect; its doc says so

    @property
    def sensitive(self) -> bool:
        return self.kind is Kind.PASSWORD

    def parse(self, text: str) -> Value:
        """The typed value of `text`. Raises `ConfigError`."""
        value = _PARSERS[self.kind](self, text.strip())
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if self.at_least is not None and value < self.at_least:
                raise self.invalid(text, f"Value must be at least {_number(self.at_least)}{self._range()}")
            if self.at_most is not None and value > self.at_most:
                raise self.invalid(text, f"Value must be no more than {_number(self.at_most)}{self._range()}")
        if self.choices:
            chosen = value if isinstance(value, tuple) else (value,)
            if any(item not in self.choices for item in chosen):
                raise self.invalid(text, f"String must be one of: {', '.join(self.choices)}")
        if self.check is not None and (reason := self.check(self.name, value)) is not None:
            raise self.invalid(text, reason)
        return value

    def invalid(self, value: str, reason: str) -> ConfigError:
        shown = "[hidden]" if self.sensitive else value
        return ConfigError(f"Invalid value {shown} for configuration {self.name}: {reason}")

    def _range(self) -> str:
        if self.at_least is None or self.at_most is None:
            return ""
        return f" (from {_number(self.at_least)} to {_number(self.at_most)})"


def not_empty(_name: str, value: Value) -> str | None:
    """Reject an empty list (KIP-1161)."""
    return None if value else "At least one value must be named"


def render(value: Value) -> str | None:
    """The text of a value as DescribeConfigs and the documentation show it; None where there is none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return str(value).replace("e+", "E")  # as Java writes it
    return str(value)


def _number(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)


def _parse_boolean(prop: Property[object], text: str) -> Value:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise prop.invalid(text, "Expected value to be either true or false")
    return lowered == "true"


def _parse_integer(prop: Property[object], text: str) -> Value:
    low, high = _INTEGER_RANGES[prop.kind]
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()) or not low <= int(text) <= high:
        raise prop.invalid(text, f"Not a number of type {prop.kind.name}")
    return int(text)


def _parse_double(prop: Property[object], text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        raise prop.invalid(text, "Not a number of type DOUBLE") from None


def _parse_list(_prop: Property[object], text: str) -> Value:
    return tuple(split_list(text))


def _parse_text(_prop: Property[object], text: str) -> Value:
    return text


def split_list(text: str) -> Sequence[str]:
    """The items of a comma-separated list; an empty text is an empty list."""
    return [item.strip() for item in text.split(",") if item.strip()]


_PARSERS: dict[Kind, Callable[[Property[object], str], Value]] = {
    Kind.BOOLEAN: _parse_boolean,
    Kind.STRING: _parse_text,
    Kind.INT: _parse_integer,
    Kind.SHORT: _parse_integer,
    Kind.LONG: _parse_integer,
    Kind.DOUBLE: _parse_double,
    Kind.LIST: _parse_list,
    Kind.CLASS: _parse_text,
    Kind.PASSWORD: _parse_text,
}
