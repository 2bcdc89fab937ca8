"""Emits what is known about all messages at once: error codes, APIs by key, metadata records by key."""

from collections.abc import Iterable

from tools.codegen.model import Message
from tools.codegen.names import Member
from tools.codegen.naming import snake_case
from tools.codegen.source import indent

GENERATED = (
    "Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file."
)
NEVER_FLEXIBLE = 0x7FFF


def version_range(message: Message) -> str:
    return f"range({message.versions.first}, {message.versions.last + 1})"


def flexible_from(message: Message) -> int:
    return message.flexible_versions.first if message.flexible_versions else NEVER_FLEXIBLE


def emit_error_codes(codes: dict[str, int]) -> str:
    lines = [
        '"""Every error code of the protocol.',
        "",
        GENERATED,
        '"""',
        "",
        "import enum",
        "",
        "",
        "class ErrorCode(enum.IntEnum):",
        *indent([f"{name} = {code}" for name, code in sorted(codes.items(), key=lambda item: item[1])]),
    ]
    return "\n".join(lines) + "\n"


def emit_api_table(messages: Iterable[Message]) -> str:
    requests = sorted(
        (message for message in messages if message.kind == "request"),
        key=lambda message: message.api_key or 0,
    )
    rows = []
    for request in requests:
        name = request.name.removesuffix("Request")
        rows.append(
            f'({request.api_key}, "{name}", "{snake_case(name)}", {request.versions.first}, '
            f"{request.versions.last}, {flexible_from(request)}),"
        )
    lines = [
        '"""Every API: key, name, module, first version, last version, first flexible version.',
        "",
        GENERATED,
        '"""',
        "",
        "from typing import Final",
        "",
        "ROWS: Final[tuple[tuple[int, str, str, int, int, int], ...]] = (",
        *indent(rows),
        ")",
    ]
    return "\n".join(lines) + "\n"


def emit_record_table(members: Iterable[Member]) -> list[str]:
    """The end of the module of metadata records: from an API key to a class and back."""
    ordered = sorted(members, key=lambda member: member.message.api_key or 0)
    names = [member.message.name for member in ordered]
    rows = []
    for member in ordered:
        message = member.message
        rows.append(
            f"{message.api_key}: RecordSpec({message.api_key}, {message.name}, {version_range(message)}, "
            f"decode{member.suffix}, encode{member.suffix}_into),"
        )
    return [
        "",
        "",
        f"MetadataRecord: TypeAlias = ({names[0]}",
        *indent([f"| {name}" for name in names[1:]]),
        ")",
        "",
        "",
        "class RecordSpec(NamedTuple):",
        *indent(
            [
                "api_key: int",
                "record_class: type[MetadataRecord]",
                "versions: range",
                "decode: Callable[[Buffer, int, int], MetadataRecord]",
                "encode_into: Callable[[bytearray, Any, int], None]",
            ]
        ),
        "",
        "",
        "RECORDS: Final[dict[int, RecordSpec]] = {",
        *indent(rows),
        "}",
        "SPEC_OF: Final[dict[type[MetadataRecord], RecordSpec]] = {",
        "    spec.record_class: spec for spec in RECORDS.values()",
        "}",
        "",
        "",
        "def decode(api_key: int, buf: Buffer, version: int, pos: int = 0) -> MetadataRecord:",
        *indent(
            [
                "spec = RECORDS.get(api_key)",
                "if spec is None:",
                '    raise ProtocolError(f"no metadata record has the key {api_key}")',
                "return spec.decode(buf, version, pos)",
            ]
        ),
        "",
        "",
        "def encode_into(out: bytearray, record: MetadataRecord, version: int) -> None:",
        "    SPEC_OF[type(record)].encode_into(out, record, version)",
    ]
