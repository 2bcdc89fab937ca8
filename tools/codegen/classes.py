"""Emits the value classes."""

from tools.codegen.model import Field, Struct
from tools.codegen.names import Member

_PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "uuid": "bytes",
    "records": "RecordsBuffer",
}


def emit_class(member: Member, struct: Struct) -> list[str]:
    lines = [f"class {member.class_name(struct)}(msgspec.Struct, frozen=True, kw_only=True, gc=False):"]
    for field in struct.fields:
        default = default_expression(member, field, in_class=True)
        lines.append(f"    {field.python_name}: {python_type(member, field)} = {default}")
    if not struct.fields:
        lines.append("    pass")
    return lines


def python_type(member: Member, field: Field) -> str:
    if field.is_struct:
        element = member.class_name(member.struct_named(field.type))
    else:
        element = _PYTHON_TYPES.get(field.type, "int")
    whole = f"list[{element}]" if field.is_array else element
    return f"{whole} | None" if field.is_optional else whole


def default_expression(member: Member, field: Field, *, in_class: bool = False) -> str:
    if field.default is None:
        return "None"
    if field.is_array:
        return "[]"
    if field.is_struct:
        struct = member.struct_named(field.type)
        return f"{member.class_name(struct)}()" if in_class else member.default_instance(struct)
    if field.type == "uuid":
        return "ZERO_UUID"
    if field.type == "bytes":
        return 'b""'
    if field.type == "string":
        return f'"{field.default}"'
    return repr(field.default)


def differs_from_default(member: Member, field: Field) -> str:
    """An expression that is true when the field of `message` holds something else than its default."""
    value = f"message.{field.python_name}"
    if field.default is None:
        return f"{value} is not None"
    if field.default is True:
        return f"not {value}"
    if field.default is False:
        return value
    return f"{value} != {default_expression(member, field)}"
