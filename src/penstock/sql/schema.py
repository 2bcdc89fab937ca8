"""The schema of a topic's values as a user writes it, such as `json(id BIGINT, amount DOUBLE)`. No I/O.

json                           columns inferred from a sample
json(NAME TYPE, …)             these columns, with types of DuckDB
envelope                       the event envelope; the payload's columns are inferred
envelope(NAME TYPE, …)         the payload has these columns
avro                           Confluent's framing, schemas of a registry
avro(FILE)                     the body alone, written with the schema in the file
protobuf(FILE, MESSAGE)        a message of a descriptor set; `protobuf(FILE, MESSAGE, bare)` without framing
text                           one column `value`
raw                            no columns of the value
"""

import re
from typing import Final, Literal, get_args

import msgspec

from penstock.sql.errors import SqlError

Kind = Literal["json", "envelope", "avro", "protobuf", "text", "raw"]
_WRITTEN: Final = re.compile(r"\s*(\w+)\s*(?:\((.*)\)\s*)?", re.DOTALL)


class TopicSchema(msgspec.Struct, frozen=True):
    kind: Kind
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.kind}({self.argument})" if self.argument else self.kind


def parse_schema(text: str) -> TopicSchema:
    """Raises `SqlError`."""
    match = _WRITTEN.fullmatch(text)
    kind = match[1].lower() if match else ""
    for known in get_args(Kind):
        if kind == known and match is not None:
            return TopicSchema(known, (match[2] or "").strip())
    raise SqlError(
        f"{text!r} is not a schema: write json, json(name TYPE, …), envelope, avro, avro(FILE), "
        "protobuf(FILE, MESSAGE), text or raw"
    )
