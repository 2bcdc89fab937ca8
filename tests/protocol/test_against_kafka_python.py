"""kafka-python, an independent implementation, reads our messages, and we read its.

kafka-python has UUIDs, and sets of bits under a name of its own, where we keep the numbers of the wire; both are
brought to the numbers before they are compared.
"""

import importlib
import itertools
import uuid
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock.protocol.wire import ZERO_UUID
from tests.protocol.message_strategies import CASE_OF, CASES, Case, samples
from tools.codegen.model import Field, Struct

PACKAGES = ("admin", "consumer", "metadata", "producer", "sasl")
MODULES = [importlib.import_module(f"kafka.protocol.{name}") for name in PACKAGES]
NO_OPERATIONS = -(2**31)


def class_of(case: Case) -> Any:
    return next((getattr(module, case.name) for module in MODULES if hasattr(module, case.name)), None)


def is_shared(case: Case, version: int) -> bool:
    known = class_of(case)
    return known is not None and case.message.kind in {"request", "response"} and version <= known.max_version


SHARED = {case.name: [[v for v in alike if is_shared(case, v)] for alike in case.alike()] for case in CASES}


def free_of_errors(field: Field) -> st.SearchStrategy[Any] | None:
    return st.just(0) if field.name == "ErrorCode" else None


def held_by(value: Any, field: Field) -> Any:
    name = field.python_name
    if name.endswith("authorized_operations") and not hasattr(value, name):
        name = "authorized_operations"
    held = getattr(value, name)
    if isinstance(held, uuid.UUID):
        return held.bytes
    if name == "authorized_operations" and not isinstance(held, int):
        return signed(held)
    if held is None and field.type == "uuid":
        return ZERO_UUID
    return held


def signed(bits: set[int] | None) -> int:
    if bits is None:
        return NO_OPERATIONS
    number = sum(1 << bit for bit in bits)
    return number - (1 << 32) if 31 in bits else number


def comparable(case: Case, struct: Struct, value: Any, version: int) -> dict[str, Any] | None:
    """A struct of either implementation as plain data, by Kafka's names."""
    if value is None:
        return None
    plain: dict[str, Any] = {}
    for field in struct.fields:
        if version not in field.versions:
            continue
        held = held_by(value, field)
        if field.is_struct:
            nested = case.member.struct_named(field.type)
            if field.is_array and held is not None:
                held = [comparable(case, nested, each, version) for each in held]
            else:
                held = comparable(case, nested, held, version)
        elif field.is_array and held is not None:
            held = [each.bytes if isinstance(each, uuid.UUID) else each for each in held]
        plain[field.name] = held
    return plain


def test_kafka_python_knows_a_good_part_of_our_messages() -> None:
    assert sum(map(len, itertools.chain.from_iterable(SHARED.values()))) > 450


@pytest.mark.parametrize("name", [name for name, groups in SHARED.items() if any(groups)])
def test_kafka_python_reads_our_messages_and_we_read_its(name: str) -> None:
    case = CASE_OF[name]
    for versions in filter(None, SHARED[name]):
        # A client takes an ApiVersions response with an error for version 0 (KIP-511).
        override = (free_of_errors,) if name == "ApiVersionsResponse" else ()
        for value in samples(name, versions[0], *override):
            for version in versions:
                check(case, value, version)


def check(case: Case, value: Any, version: int) -> None:
    data = case.encode(value, version)
    theirs = class_of(case).decode(data, version=version)
    root = case.message.root
    assert comparable(case, root, theirs, version) == comparable(case, root, value, version)
    theirs._header = None
    assert case.decode(theirs.encode(version=version), version) == value
