"""The names that the parts of one generated module use for each other."""

from collections import Counter

from tools.codegen.model import Message, Struct
from tools.codegen.naming import snake_case


class Member:
    """One message of a module: which word its functions end with, and what a clashing struct name starts with."""

    def __init__(self, message: Message, suffix: str, prefix: str) -> None:
        self.message = message
        self.suffix = suffix
        self.prefix = prefix
        self._clashing: frozenset[str] = frozenset()

    def avoid(self, clashing: frozenset[str]) -> None:
        self._clashing = clashing

    def class_name(self, struct: Struct) -> str:
        if struct.name in self._clashing and struct is not self.message.root:
            return self.prefix + struct.name
        return struct.name

    def struct_named(self, name: str) -> Struct:
        return self.message.structs[name]

    def reader(self, struct: Struct, version: int) -> str:
        return f"_read_{snake_case(self.class_name(struct))}_v{version}"

    def writer(self, struct: Struct, version: int) -> str:
        return f"_write_{snake_case(self.class_name(struct))}_v{version}"

    def default_instance(self, struct: Struct) -> str:
        return f"_DEFAULT_{snake_case(self.class_name(struct)).upper()}"


def resolve_clashes(members: list[Member]) -> None:
    """Structs that share a name with one of another message of the module get their message's prefix."""
    uses = Counter(struct.name for member in members for struct in member.message.in_order())
    clashing = frozenset(name for name, count in uses.items() if count > 1)
    for member in members:
        member.avoid(clashing)
