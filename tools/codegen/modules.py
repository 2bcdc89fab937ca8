"""Puts generated modules together: which messages share one, and in what order its parts stand."""

from dataclasses import dataclass

from tools.codegen.classes import emit_class
from tools.codegen.layout import Layouts
from tools.codegen.model import Message
from tools.codegen.names import Member, resolve_clashes
from tools.codegen.naming import DefinitionError, snake_case
from tools.codegen.readers import ReaderEmitter
from tools.codegen.source import Needs, indent
from tools.codegen.tables import GENERATED, emit_record_table, flexible_from, version_range
from tools.codegen.writers import WriterEmitter

METADATA_RECORDS = "metadata_records"


@dataclass(frozen=True)
class Module:
    name: str
    summary: str
    members: tuple[Member, ...]


def group_into_modules(messages: list[Message]) -> list[Module]:
    """A request and its response share a module, so do a record's key and value, and all metadata records."""
    members: dict[str, list[Member]] = {}
    for message in messages:
        placed = _place(message)
        if placed is not None:
            module_name, member = placed
            members.setdefault(module_name, []).append(member)
    modules = []
    for name, group in sorted(members.items()):
        resolve_clashes(group)
        modules.append(Module(name, _summary(name, group), tuple(group)))
    return modules


def _place(message: Message) -> tuple[str, Member] | None:
    if message.kind == "request":
        return snake_case(message.name.removesuffix("Request")), Member(message, "_request", "Request")
    if message.kind == "response":
        return snake_case(message.name.removesuffix("Response")), Member(message, "_response", "Response")
    if message.kind == "coordinator-key":
        return snake_case(message.name.removesuffix("Key")) + "_record", Member(message, "_key", "Key")
    if message.kind == "coordinator-value":
        return snake_case(message.name.removesuffix("Value")) + "_record", Member(message, "_value", "Value")
    if message.kind == "metadata":
        return METADATA_RECORDS, Member(
            message, f"_{snake_case(message.name)}", message.name.removesuffix("Record")
        )
    if message.kind == "data":
        return snake_case(message.name), Member(message, "", "")
    if message.kind == "header":
        return None  # headers.py is written by hand: its version depends on what it has read
    raise DefinitionError(f"{message.name} is of unknown type {message.kind}")


def _summary(name: str, members: list[Member]) -> str:
    if name == METADATA_RECORDS:
        return "Records of the cluster metadata log."
    names = " and ".join(member.message.name for member in members)
    return f"{names}."


def emit_module(module: Module) -> str:
    needs = Needs()
    functions: list[str] = []
    classes: list[str] = []
    for member in module.members:
        layouts = Layouts(member.message)
        reader = ReaderEmitter(member, layouts, needs)
        writer = WriterEmitter(member, layouts, needs)
        for struct in member.message.in_order():
            classes += ["", "", *emit_class(member, struct)]
            for layout in layouts.of(struct):
                functions += ["", "", *reader.emit(layout), "", "", *writer.emit(layout)]
        functions += _entry_points(member, layouts, needs)
    table = emit_record_table(module.members) if module.name == METADATA_RECORDS else []
    needs.wire |= {"Buffer", "unsupported_version"}
    if any("ZERO_UUID" in line for line in (*classes, *functions)):
        needs.wire.add("ZERO_UUID")
    if any("RecordsBuffer" in line for line in (*classes, *functions)):
        needs.wire.add("RecordsBuffer")
    constants = _constants(module)
    formats = [f'{name}: Final = struct.Struct("{code}")' for name, code in sorted(needs.formats.items())]
    defaults = [f"{name}: Final = {class_name}()" for name, class_name in sorted(needs.defaults.items())]
    parts = [
        *_head(module, needs),
        *constants,
        *(["", *formats] if formats else []),
        *classes,
        *(["", "", *defaults] if defaults else []),
        *functions,
        *table,
    ]
    return "\n".join(parts) + "\n"


def _head(module: Module, needs: Needs) -> list[str]:
    imports = [f"    {name}," for name in sorted(needs.wire)]
    return [
        f'"""{module.summary}',
        "",
        GENERATED,
        '"""',
        "",
        "import struct",
        "from collections.abc import Callable",
        "from typing import "
        + ("Any, Final, NamedTuple, TypeAlias" if module.name == METADATA_RECORDS else "Final"),
        "",
        "import msgspec",
        "",
        "from penstock.protocol.errors import ProtocolError",
        "from penstock.protocol.wire import (",
        *imports,
        ")",
        "",
    ]


def _constants(module: Module) -> list[str]:
    first = module.members[0].message
    if module.name == METADATA_RECORDS:
        return []
    if first.kind in {"request", "response"}:
        if (
            len(module.members) != 2
            or len({(m.message.api_key, m.message.versions) for m in module.members}) != 1
        ):
            raise DefinitionError(f"{module.name} is not a matching request and response")
        return [
            f"API_KEY: Final = {first.api_key}",
            f"VERSIONS: Final = {version_range(first)}",
            f"FLEXIBLE_FROM: Final = {flexible_from(first)}",
        ]
    lines = [] if first.api_key is None else [f"RECORD_TYPE: Final = {first.api_key}"]
    for member in module.members:
        word = member.suffix.removeprefix("_").upper()
        lines.append(f"{word}{'_' if word else ''}VERSIONS: Final = {version_range(member.message)}")
    return lines


def _entry_points(member: Member, layouts: Layouts, needs: Needs) -> list[str]:
    message = member.message
    name, suffix = message.name, member.suffix
    first, last = message.versions.first, message.versions.last
    named = [layouts.first_version(message.root, version) for version in range(first, last + 1)]
    readers = f"_{suffix.removeprefix('_').upper()}_READERS" if suffix else "_READERS"
    writers = readers.replace("_READERS", "_WRITERS")
    index = "version" if first == 0 else f"version - {first}"
    needs.use("unsupported_version")
    is_counted = message.kind == "request"
    taken, given = (
        ("Buffer, int, Budget", "buf, pos, Budget()") if is_counted else ("Buffer, int", "buf, pos")
    )
    guard = [f"if not {first} <= version <= {last}:", f'    raise unsupported_version("{name}", version)']
    return [
        "",
        "",
        f"{readers}: Final[tuple[Callable[[{taken}], tuple[{name}, int]], ...]] = (",
        *indent([f"{member.reader(message.root, version)}," for version in named]),
        ")",
        f"{writers}: Final[tuple[Callable[[bytearray, {name}], None], ...]] = (",
        *indent([f"{member.writer(message.root, version)}," for version in named]),
        ")",
        "",
        "",
        f"def decode{suffix}(buf: Buffer, version: int, pos: int = 0) -> {name}:",
        *indent(
            [
                *guard,
                "try:",
                f"    return {readers}[{index}]({given})[0]",
                "except (IndexError, struct.error) as error:",
                f'    raise ProtocolError("{name} is cut short") from error',
            ]
        ),
        "",
        "",
        f"def encode{suffix}_into(out: bytearray, message: {name}, version: int) -> None:",
        *indent(
            [
                *guard,
                "try:",
                f"    {writers}[{index}](out, message)",
                "except struct.error as error:",
                f'    raise ProtocolError(f"{name} holds a value out of range: {{error}}") from error',
            ]
        ),
        "",
        "",
        f"def encode{suffix}(message: {name}, version: int) -> bytes:",
        *indent(["out = bytearray()", f"encode{suffix}_into(out, message, version)", "return bytes(out)"]),
    ]
