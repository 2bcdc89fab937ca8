"""kio, an independent implementation, reads our messages, and we read its.

kio knows durations, dates, UUIDs and error codes where we keep the numbers of the wire; both are brought to the
numbers before they are compared.
"""

import datetime as dt
import io
import itertools
import uuid
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import strategies as st
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from penstock.protocol.wire import ZERO_UUID
from tests.protocol.message_strategies import CASE_OF, CASES, Case, samples
from tools.codegen.model import Field, Struct

MILLISECOND = dt.timedelta(milliseconds=1)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
KINDS = {"request": EntityType.request, "response": EntityType.response, "data": EntityType.data}
KIO_MODULES = {"kraft_version_record": "k_raft_version_record"}


def kio_name(case: Case) -> str:
    return KIO_MODULES.get(case.module_name, case.module_name)


def is_known_to_kio(case: Case, version: int) -> bool:
    entities = schema_name_map.get(kio_name(case), {}).get(version, {})
    return KINDS.get(case.message.kind) in entities


SHARED = {
    case.name: [[v for v in alike if is_known_to_kio(case, v)] for alike in case.alike()] for case in CASES
}


def acceptable_to_kio(field: Field) -> st.SearchStrategy[Any] | None:
    """kio refuses error codes that it does not know, and dates that Python's calendar lacks."""
    if field.type == "int16" and field.name.endswith("ErrorCode"):
        return st.sampled_from([int(code.value) for code in KioErrorCode])
    if field.type == "int64" and (field.name.endswith("Ms") or "Timestamp" in field.name):
        return st.integers(0, 10**12)
    return None


def number(value: Any, field: Field) -> Any:
    if isinstance(value, KioErrorCode):
        return int(value.value)
    if isinstance(value, dt.timedelta):
        return value // MILLISECOND
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // MILLISECOND
    if isinstance(value, uuid.UUID):
        return value.bytes
    if value is None and field.type == "uuid":
        return ZERO_UUID
    return value


def comparable(case: Case, struct: Struct, value: Any, version: int) -> dict[str, Any] | None:
    """A struct of either implementation as plain data: fields are matched by their order, for names differ."""
    if value is None:
        return None
    present = [field for field in struct.fields if version in field.versions]
    if hasattr(value, "__struct_fields__"):
        theirs = [field.python_name for field in present]
    else:
        theirs = [each.name for each in fields(value)]
    assert len(theirs) == len(present), f"{struct.name}: {theirs} are not {[field.name for field in present]}"
    plain: dict[str, Any] = {}
    for name, field in zip(theirs, present, strict=True):
        held = getattr(value, name)
        if field.is_struct:
            nested = case.member.struct_named(field.type)
            if field.is_array and held is not None:
                plain[field.name] = [comparable(case, nested, each, version) for each in held]
            else:
                plain[field.name] = comparable(case, nested, held, version)
        elif field.is_array and held is not None:
            plain[field.name] = [number(each, field) for each in held]
        else:
            plain[field.name] = number(held, field)
    return plain


def test_kio_knows_most_versions_of_our_messages() -> None:
    assert sum(map(len, itertools.chain.from_iterable(SHARED.values()))) > 550


@pytest.mark.parametrize("name", [name for name, groups in SHARED.items() if any(groups)])
def test_kio_reads_our_messages_and_we_read_those_of_kio(name: str) -> None:
    case = CASE_OF[name]
    for versions in filter(None, SHARED[name]):
        drawn = samples(name, versions[0], acceptable_to_kio)
        for version in versions:
            entity = load_entity_schema(kio_name(case), version, KINDS[case.message.kind])
            for value in drawn:
                check(case, entity_reader(entity), entity_writer(entity), value, version)


def check(case: Case, read: Any, write: Any, value: Any, version: int) -> None:
    data = case.encode(value, version)
    theirs, size = read(data, 0)
    assert size == len(data)
    root = case.message.root
    assert comparable(case, root, theirs, version) == comparable(case, root, value, version)
    buffer = io.BytesIO()
    write(buffer, theirs)
    assert case.decode(buffer.getvalue(), version) == value
