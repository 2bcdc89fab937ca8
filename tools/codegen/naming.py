"""Python names for Kafka's names."""

import keyword
import re


class DefinitionError(Exception):
    """A definition that cannot be turned into code."""


# Names that generated functions use themselves; a field so called gets an underscore as a local variable.
_LOCALS = frozenset(
    {"buf", "pos", "out", "message", "count", "tag", "end", "tagged", "value", "memoryview", "list"}
)
_UNUSABLE_FIELDS = frozenset({"bool", "bytes", "bytearray", "float", "int", "list", "memoryview", "str"})


def snake_case(name: str) -> str:
    """`TopicId` is `topic_id`; `KRaftVersion` is `kraft_version`."""
    name = name.replace("KRaft", "Kraft")
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
    if keyword.iskeyword(name) or name in _UNUSABLE_FIELDS:
        raise DefinitionError(f"{name} cannot be the name of a field")
    return name


def local_name(python_name: str) -> str:
    return f"{python_name}_" if python_name in _LOCALS else python_name
