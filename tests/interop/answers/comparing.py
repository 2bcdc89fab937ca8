"""The differences of two answers, field by field."""

from collections.abc import Iterator
from typing import Any, NamedTuple

MISSING = "MISSING"


class FieldDifference(NamedTuple):
    """`path` names the field, without the numbers of list entries; it is empty for an answer as a whole."""

    path: str
    kafkas: Any
    ours: Any


def different_fields(kafkas: Any, ours: Any, path: str = "") -> Iterator[FieldDifference]:
    """Lists are compared entry by entry if they have the same length, otherwise as a whole."""
    if isinstance(kafkas, dict) and isinstance(ours, dict):
        for name in kafkas | ours:
            inner = f"{path}.{name}" if path else name
            yield from different_fields(kafkas.get(name, MISSING), ours.get(name, MISSING), inner)
    elif isinstance(kafkas, list) and isinstance(ours, list) and len(kafkas) == len(ours):
        for his, mine in zip(kafkas, ours, strict=True):
            yield from different_fields(his, mine, path)
    elif kafkas != ours:
        yield FieldDifference(path, kafkas, ours)
