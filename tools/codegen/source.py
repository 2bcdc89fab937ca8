"""Collects what a generated module needs from outside its own functions."""

from tools.codegen.layout import FieldLayout
from tools.codegen.model import FIXED_SIZES

LINE_LENGTH = 100
_LETTERS = {"?": "o", "16s": "u"}


class Needs:
    """The wire functions to import, the packed formats to precompile, the default structs to compare with."""

    def __init__(self) -> None:
        self.wire: set[str] = set()
        self.formats: dict[str, str] = {}
        self.defaults: dict[str, str] = {}

    def use(self, function: str) -> str:
        self.wire.add(function)
        return function

    def packed(self, run: list[FieldLayout]) -> tuple[str, int]:
        """The name of the precompiled format of adjacent fields, and its size in bytes."""
        codes = [FIXED_SIZES[each.field.type][0] for each in run]
        name = "_PACKED_" + "".join(_LETTERS.get(code, code) for code in codes)
        self.formats[name] = ">" + "".join(codes)
        return name, sum(FIXED_SIZES[each.field.type][1] for each in run)


def split_into_runs(layouts: tuple[FieldLayout, ...]) -> list[list[FieldLayout]]:
    """Adjacent fields of fixed size share a run, to be packed at once; any other field stands alone."""
    runs: list[list[FieldLayout]] = []
    for layout in layouts:
        if layout.field.is_fixed and runs and runs[-1][0].field.is_fixed:
            runs[-1].append(layout)
        else:
            runs.append([layout])
    return runs


def indent(lines: list[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line if line else line for line in lines]
