"""Emits the functions that encode a struct: one for each of its layouts."""

from tools.codegen.classes import differs_from_default
from tools.codegen.layout import FieldLayout, Layouts, StructLayout
from tools.codegen.model import Field
from tools.codegen.names import Member
from tools.codegen.naming import local_name
from tools.codegen.source import Needs, indent, split_into_runs


class WriterEmitter:
    def __init__(self, member: Member, layouts: Layouts, needs: Needs) -> None:
        self._member = member
        self._layouts = layouts
        self._needs = needs

    def emit(self, layout: StructLayout) -> list[str]:
        class_name = self._member.class_name(layout.struct)
        writer = self._member.writer(layout.struct, layout.first)
        body: list[str] = []
        for field in layout.absent:
            body += self._refusal(layout, field)
        for run in split_into_runs(layout.regular):
            if run[0].field.is_fixed:
                body.append(self._packed_run(run, "out"))
            else:
                body += self._field(run[0], layout, "out")
        if layout.is_flexible:
            body += self._tagged_section(layout)
        return [f"def {writer}(out: bytearray, message: {class_name}) -> None:", *indent(body or ["pass"])]

    def _refusal(self, layout: StructLayout, field: Field) -> list[str]:
        if field.is_ignorable:
            return []
        refuse = self._needs.use("unsupported_field")
        return [
            f"if {self._differs_from_default(field)}:",
            f'    raise {refuse}("{layout.struct.name}.{field.python_name}", {layout.first}, {layout.last})',
        ]

    def _differs_from_default(self, field: Field) -> str:
        if field.is_struct and not field.is_array and field.default is not None:
            struct = self._member.struct_named(field.type)
            self._needs.defaults[self._member.default_instance(struct)] = self._member.class_name(struct)
        if field.type == "uuid" and not field.is_array:
            self._needs.use("ZERO_UUID")
        return differs_from_default(self._member, field)

    def _packed_run(self, run: list[FieldLayout], out: str) -> str:
        packed, _size = self._needs.packed(run)
        values = ", ".join(f"message.{each.field.python_name}" for each in run)
        return f"{out} += {packed}.pack({values})"

    def _field(
        self, layout: FieldLayout, struct_layout: StructLayout, out: str, *, may_be_null: bool = True
    ) -> list[str]:
        field = layout.field
        value = f"message.{field.python_name}"
        if field.is_optional and not layout.is_nullable:
            require = self._needs.use("required_records" if field.type == "records" else "required")
            value = f'{require}({value}, "{struct_layout.struct.name}.{field.python_name}")'
        if field.is_array:
            return self._array(layout, value, out, may_be_null=may_be_null)
        if field.is_struct:
            return self._struct(layout, value, out, may_be_null=may_be_null)
        writer = self._needs.use(f"write_{_style(layout)}{field.type}")
        return [f"{writer}({out}, {value})"]

    def _struct(self, layout: FieldLayout, value: str, out: str, *, may_be_null: bool) -> list[str]:
        write = f"{self._nested_writer(layout)}({out}, {value})"
        if not layout.is_nullable:
            return [write]
        present = [f"{out}.append(1)", write]
        if not may_be_null:
            return present
        # Null is -1 as an int8, but 0 as a varint in a tagged field (KIP-893).
        null = "0" if out == "value" else "0xFF"
        return [f"if {value} is None:", f"    {out}.append({null})", "else:", *indent(present)]

    def _nested_writer(self, layout: FieldLayout) -> str:
        struct = self._member.struct_named(layout.field.type)
        return self._member.writer(struct, self._layouts.first_version(struct, layout.version))

    def _array(self, layout: FieldLayout, value: str, out: str, *, may_be_null: bool) -> list[str]:
        compact = "compact_" if layout.is_compact else ""
        length = self._needs.use(f"write_{compact}array_length")
        name = local_name(layout.field.python_name)
        lines = [f"{name} = {value}"]
        written = [f"{length}({out}, len({name}))", *self._elements(layout, name, out)]
        if not layout.is_nullable or not may_be_null:
            return lines + written
        null = f"{length}({out}, -1)"
        return [*lines, f"if {name} is None:", f"    {null}", "else:", *indent(written)]

    def _elements(self, layout: FieldLayout, name: str, out: str) -> list[str]:
        field = layout.field
        if field.is_struct:
            return [f"for {name}_item in {name}:", f"    {self._nested_writer(layout)}({out}, {name}_item)"]
        compact = "compact_" if field.type == "string" and layout.is_compact else ""
        writer = self._needs.use(f"write_{compact}{field.type}s")
        return [f"{writer}({out}, {name})"]

    def _tagged_section(self, layout: StructLayout) -> list[str]:
        if not layout.tagged:
            return ["out.append(0)"]
        lines = ["tagged: list[tuple[int, bytearray]] = []"]
        for each in layout.tagged:
            if each.field.is_fixed:
                written = [self._packed_run([each], "value")]
            else:
                written = self._field(each, layout, "value", may_be_null=each.field.default is not None)
            lines += [
                f"if {self._differs_from_default(each.field)}:",
                "    value = bytearray()",
                *indent(written),
                f"    tagged.append(({each.field.tag}, value))",
            ]
        return [*lines, f"{self._needs.use('write_tagged_fields')}(out, tagged)"]


def _style(layout: FieldLayout) -> str:
    return ("compact_" if layout.is_compact else "") + ("nullable_" if layout.is_nullable else "")
