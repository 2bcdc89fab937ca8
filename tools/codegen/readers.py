"""Emits the functions that decode a struct: one for each of its layouts.

Those of requests count what they read: a client must not keep a broker busy with one request. Whoever reads a response
or a record trusts its writer.
"""

from tools.codegen.classes import default_expression, python_type
from tools.codegen.layout import FieldLayout, Layouts, StructLayout
from tools.codegen.names import Member
from tools.codegen.naming import local_name
from tools.codegen.source import LINE_LENGTH, Needs, indent, split_into_runs


class ReaderEmitter:
    def __init__(self, member: Member, layouts: Layouts, needs: Needs) -> None:
        self._member = member
        self._layouts = layouts
        self._needs = needs
        self._is_counted = member.message.kind == "request"
        self._arguments = "buf, pos, budget" if self._is_counted else "buf, pos"

    def emit(self, layout: StructLayout) -> list[str]:
        class_name = self._member.class_name(layout.struct)
        reader = self._member.reader(layout.struct, layout.first)
        body: list[str] = []
        for run in split_into_runs(layout.regular):
            body += self._packed_run(run) if run[0].field.is_fixed else self._field(run[0])
        if layout.is_flexible:
            body += self._tagged_section(layout)
        body += self._construction(layout, class_name)
        return [
            f"def {reader}({self.parameters}) -> tuple[{class_name}, int]:",
            *indent(body),
        ]

    @property
    def parameters(self) -> str:
        if not self._is_counted:
            return "buf: Buffer, pos: int"
        return f"buf: Buffer, pos: int, budget: {self._needs.use('Budget')}"

    def _construction(self, layout: StructLayout, class_name: str) -> list[str]:
        names = [each.field.python_name for each in (*layout.regular, *layout.tagged)]
        arguments = [f"{name}={local_name(name)}" for name in names]
        whole = f"return {class_name}({', '.join(arguments)}), pos"
        if len(whole) <= LINE_LENGTH:
            return [whole]
        return [
            f"value = {class_name}(",
            *indent([f"{argument}," for argument in arguments]),
            ")",
            "return value, pos",
        ]

    def _packed_run(self, run: list[FieldLayout]) -> list[str]:
        packed, size = self._needs.packed(run)
        targets = [local_name(each.field.python_name) for each in run]
        if len(targets) == 1:
            assignment = f"{targets[0]} = {packed}.unpack_from(buf, pos)[0]"
        else:
            assignment = f"{', '.join(targets)} = {packed}.unpack_from(buf, pos)"
        return [assignment, f"pos += {size}"]

    def _field(self, layout: FieldLayout, *, is_declared: bool = False) -> list[str]:
        field = layout.field
        target = local_name(field.python_name)
        if field.is_array:
            return self._array(layout, target, is_declared=is_declared)
        if field.is_struct:
            return self._struct(layout, target, is_declared=is_declared)
        reader = self._needs.use(f"read_{_style(layout)}{field.type}")
        return [f"{target}, pos = {reader}(buf, pos)"]

    def _struct(self, layout: FieldLayout, target: str, *, is_declared: bool) -> list[str]:
        read = [f"{target}, pos = {self._nested_reader(layout)}({self._arguments})"]
        if not layout.is_nullable:
            return read
        return [
            f"{self._declaration(layout, target, is_declared=is_declared)} = None",
            "pos += 1",
            # Null is -1 as an int8, but 0 as a varint in a tagged field (KIP-893).
            "if buf[pos - 1] != 0:" if is_declared else "if buf[pos - 1] < 0x80:",
            *indent(read),
        ]

    def _declaration(self, layout: FieldLayout, target: str, *, is_declared: bool) -> str:
        if is_declared:
            return target
        annotation = python_type(self._member, layout.field)
        return f"{target}: {annotation if layout.is_nullable else annotation.removesuffix(' | None')}"

    def _nested_reader(self, layout: FieldLayout) -> str:
        struct = self._member.struct_named(layout.field.type)
        return self._member.reader(struct, self._layouts.first_version(struct, layout.version))

    def _array(self, layout: FieldLayout, target: str, *, is_declared: bool) -> list[str]:
        length = self._needs.use(f"read_{_style(layout)}array_length")
        size = self._layouts.element_size_min(layout)
        lines = [f"count, pos = {length}(buf, pos, {size})", *self._counting()]
        if not layout.is_nullable:
            return lines + self._elements(layout, target, is_declared=is_declared)
        return [
            *lines,
            f"{self._declaration(layout, target, is_declared=is_declared)} = None",
            "if count >= 0:",
            *indent(self._elements(layout, target, is_declared=True)),
        ]

    def _elements(self, layout: FieldLayout, target: str, *, is_declared: bool) -> list[str]:
        field = layout.field
        if field.is_struct:
            return [
                f"{self._declaration(layout, target, is_declared=is_declared)} = []",
                "for _ in range(count):",
                f"    {target}_item, pos = {self._nested_reader(layout)}({self._arguments})",
                f"    {target}.append({target}_item)",
            ]
        compact = "compact_" if field.type == "string" and layout.is_compact else ""
        reader = self._needs.use(f"read_{compact}{field.type}s")
        return [f"{target}, pos = {reader}(buf, pos, count)"]

    def _tagged_section(self, layout: StructLayout) -> list[str]:
        if not layout.tagged:
            skip = self._needs.use("skip_tagged_fields")
            return ["if buf[pos] == 0:", "    pos += 1", "else:", f"    pos = {skip}({self._arguments})"]
        lines = []
        for each in layout.tagged:
            name = local_name(each.field.python_name)
            annotation = python_type(self._member, each.field)
            lines.append(f"{name}: {annotation} = {default_expression(self._member, each.field)}")
            self._note_default(each)
        return [*lines, "if buf[pos] == 0:", "    pos += 1", "else:", *indent(self._tag_loop(layout))]

    def _note_default(self, layout: FieldLayout) -> None:
        field = layout.field
        if field.is_struct and not field.is_array and field.default is not None:
            struct = self._member.struct_named(field.type)
            self._needs.defaults[self._member.default_instance(struct)] = self._member.class_name(struct)

    def _tag_loop(self, layout: StructLayout) -> list[str]:
        count = self._needs.use("read_uvarint")
        head = self._needs.use("read_tag")
        wrong = self._needs.use("wrong_tag_size")
        lines: list[str] = []
        for each in layout.tagged:
            lines.append(f"{'elif' if lines else 'if'} tag == {each.field.tag}:")
            lines += indent(self._tagged_field(each))
        return [
            f"count, pos = {count}(buf, pos)",
            *self._counting(),
            "for _ in range(count):",
            *indent(
                [
                    f"tag, pos, end = {head}(buf, pos)",
                    *lines,
                    "else:",
                    "    pos = end",
                    "if pos != end:",
                    f'    raise {wrong}("{layout.struct.name}", tag)',
                ]
            ),
        ]

    def _counting(self) -> list[str]:
        return ["budget.take(count)"] if self._is_counted else []

    def _tagged_field(self, layout: FieldLayout) -> list[str]:
        if layout.field.is_fixed:
            return self._packed_run([layout])
        return self._field(layout, is_declared=True)


def _style(layout: FieldLayout) -> str:
    return ("compact_" if layout.is_compact else "") + ("nullable_" if layout.is_nullable else "")
