"""Which versions of a struct look the same on the wire, and how they look.

Code is generated once for each distinct layout of a struct instead of once for each version, and without a test of
the version inside: a layout is named by the first version that has it.
"""

from dataclasses import dataclass

from tools.codegen.model import FIXED_SIZES, Field, Message, Struct
from tools.codegen.naming import DefinitionError

Signature = tuple[object, ...]


@dataclass(frozen=True)
class FieldLayout:
    """How one field is written in one version."""

    field: Field
    is_compact: bool
    is_nullable: bool
    version: int


@dataclass(frozen=True)
class StructLayout:
    """How a struct is written in the versions `first` to `last`: fields in order, then tagged fields by tag."""

    struct: Struct
    first: int
    last: int
    is_flexible: bool
    regular: tuple[FieldLayout, ...]
    tagged: tuple[FieldLayout, ...]
    absent: tuple[Field, ...]


class Layouts:
    """The distinct layouts of every struct of one message."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._versions_of: dict[str, list[int]] = {struct.name: [] for struct in message.in_order()}
        for version in range(message.versions.first, message.versions.last + 1):
            self._note_uses(message.root, version)
        self._signatures: dict[tuple[str, int], Signature] = {}

    def first_version(self, struct: Struct, version: int) -> int:
        """The version that names the layout which `struct` has in `version`."""
        wanted = self._signature(struct, version)
        return next(
            each for each in self._versions_of[struct.name] if self._signature(struct, each) == wanted
        )

    def of(self, struct: Struct) -> list[StructLayout]:
        by_first: dict[int, list[int]] = {}
        for version in self._versions_of[struct.name]:
            by_first.setdefault(self.first_version(struct, version), []).append(version)
        return [self.in_version(struct, first, max(versions)) for first, versions in by_first.items()]

    def in_version(self, struct: Struct, version: int, last: int) -> StructLayout:
        present = [field for field in struct.fields if version in field.versions]
        tagged = [field for field in present if version in field.tagged_versions]
        return StructLayout(
            struct=struct,
            first=version,
            last=last,
            is_flexible=self.message.is_flexible(version),
            regular=tuple(self._field(field, version) for field in present if field not in tagged),
            tagged=tuple(
                self._field(field, version) for field in sorted(tagged, key=lambda field: field.tag)
            ),
            absent=tuple(field for field in struct.fields if version not in field.versions),
        )

    def size_min(self, layout: StructLayout) -> int:
        """The fewest bytes this struct can take."""
        return sum(self._field_size_min(each) for each in layout.regular) + layout.is_flexible

    def element_size_min(self, layout: FieldLayout) -> int:
        """The fewest bytes that one element of this array can take."""
        field = layout.field
        if field.type in FIXED_SIZES:
            return FIXED_SIZES[field.type][1]
        if not field.is_struct:
            return 1 if layout.is_compact else (2 if field.type == "string" else 4)
        struct = self.message.structs[field.type]
        size = self.size_min(self.in_version(struct, layout.version, layout.version))
        if size == 0:
            raise DefinitionError(
                f"{field.name} holds elements of no bytes: their number would have no bound"
            )
        return size

    def _field_size_min(self, layout: FieldLayout) -> int:
        field = layout.field
        if field.is_array:
            return 1 if layout.is_compact else 4
        if field.is_struct and layout.is_nullable:
            return 1
        if field.is_struct:
            struct = self.message.structs[field.type]
            return self.size_min(self.in_version(struct, layout.version, layout.version))
        return self.element_size_min(layout)

    def _field(self, field: Field, version: int) -> FieldLayout:
        flexible = field.flexible_versions or self.message.flexible_versions
        return FieldLayout(
            field=field,
            is_compact=version in flexible,
            is_nullable=version in field.nullable_versions,
            version=version,
        )

    def _note_uses(self, struct: Struct, version: int) -> None:
        versions = self._versions_of[struct.name]
        if version in versions:
            return
        versions.append(version)
        for field in struct.fields:
            if field.is_struct and version in field.versions:
                self._note_uses(self.message.structs[field.type], version)

    def _signature(self, struct: Struct, version: int) -> Signature:
        known = self._signatures.get((struct.name, version))
        if known is None:
            layout = self.in_version(struct, version, version)
            known = (
                layout.is_flexible,
                *(self._field_signature(each, is_tagged=False) for each in layout.regular),
                *(self._field_signature(each, is_tagged=True) for each in layout.tagged),
            )
            self._signatures[struct.name, version] = known
        return known

    def _field_signature(self, layout: FieldLayout, *, is_tagged: bool) -> Signature:
        field = layout.field
        nested = self._signature(self.message.structs[field.type], layout.version) if field.is_struct else ()
        return (field.name, is_tagged, layout.is_compact, layout.is_nullable, nested)
