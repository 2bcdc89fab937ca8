"""Compares the rows of an output with the expected rows, and describes each difference: the row and the column. No I/O.

Each expected row is matched with a different actual row. Expected rows without a match are paired with the most similar
of the remaining actual rows, so that a wrong value is reported as such, not as a missing and an unexpected row.
"""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from penstock.spark.testing.show import show_row, show_value

Row = Mapping[str, Any]

_SHOWN_MAX = 10
_PAIRED_MAX = 50  # more differing rows than this are not paired: each pair costs a comparison
_SIMILAR = 0.5  # of the columns


class Containing(msgspec.Struct, frozen=True):
    """An expected value: any text that contains this one."""

    text: str


class ActualRow(msgspec.Struct, frozen=True):
    """`metadata` has columns that are compared only with expected rows that name them, such as `_key`."""

    columns: Row
    metadata: Row = {}


class ExpectedRows(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[Row, ...]
    lines: tuple[int, ...] = ()  # of the rows, in their file
    is_ordered: bool = False
    is_partial: bool = False  # compare only the columns that an expected row names
    allows_others: bool = False  # there may be further rows
    columns: tuple[str, ...] | None = None  # compare only these


def rows_differ(
    actual: Iterable[Row], expected: Iterable[Row], *, columns: Sequence[str] | None = None
) -> str | None:
    """Describe the differences, one per line, in any order of rows; None if the rows are the same.

    With `columns`, only these are compared. Duplicates count. A missing column is null.
    """
    wanted = ExpectedRows(rows=tuple(expected), columns=None if columns is None else tuple(columns))
    differences = find_differences([ActualRow(row) for row in actual], wanted)
    return "\n".join(differences) if differences else None


def find_differences(actual: Sequence[ActualRow], expected: ExpectedRows) -> list[str]:
    """Return a line for each difference; none if all expected rows, and no others, are there."""
    comparison = _Comparison(actual, expected)
    pairs = comparison.by_position() if expected.is_ordered else comparison.by_content()
    missing = [number for number in range(len(expected.rows)) if number not in pairs]
    found = set(pairs.values())
    unexpected = [] if expected.allows_others else [n for n in range(len(actual)) if n not in found]
    if not expected.is_ordered:
        similar = comparison.pair_similar(
            missing, [number for number in range(len(actual)) if number not in found]
        )
        pairs |= similar
        missing = [number for number in missing if number not in similar]
        unexpected = [number for number in unexpected if number not in set(similar.values())]
    return [
        *_cut([text for row in sorted(pairs) if (text := comparison.describe_pair(row, pairs[row]))]),
        *_cut([f"{comparison.name(row)} is missing: {show_row(expected.rows[row])}" for row in missing]),
        *_cut([f"unexpected row: {show_row(comparison.shown(row))}" for row in unexpected]),
    ]


def _cut(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN_MAX
    return lines if more <= 0 else [*lines[:_SHOWN_MAX], f"… and {more} more like this"]


class _Comparison:
    def __init__(self, actual: Sequence[ActualRow], expected: ExpectedRows) -> None:
        self._actual = actual
        self._expected = expected

    def by_position(self) -> dict[int, int]:
        return {number: number for number in range(min(len(self._expected.rows), len(self._actual)))}

    def by_content(self) -> dict[int, int]:
        """Match as many rows as possible: a row that names few columns leaves others to rows that need them."""
        matched: dict[int, int] = {}  # actual -> expected
        candidates = [
            [number for number in range(len(self._actual)) if not self._wrong_columns(row, number)]
            for row in range(len(self._expected.rows))
        ]
        for row in range(len(candidates)):
            _assign(row, candidates, matched, set())
        return {row: number for number, row in matched.items()}

    def pair_similar(self, missing: Sequence[int], unexpected: Sequence[int]) -> dict[int, int]:
        if max(len(missing), len(unexpected)) > _PAIRED_MAX:
            return {}
        scores = sorted(
            ((self._similarity(row, number), -row, -number) for row in missing for number in unexpected),
            reverse=True,
        )
        pairs: dict[int, int] = {}
        for score, row, number in scores:
            if score >= _SIMILAR and -row not in pairs and -number not in pairs.values():
                pairs[-row] = -number
        return pairs

    def _similarity(self, row: int, number: int) -> float:
        columns = self._compared(row, number)
        return 1 - len(self._wrong_columns(row, number)) / len(columns) if columns else 1.0

    def _compared(self, row: int, number: int) -> list[str]:
        expected = self._expected
        if expected.columns is not None:
            return list(expected.columns)
        others = () if expected.is_partial else self._actual[number].columns
        return list(dict.fromkeys((*expected.rows[row], *others)))

    def _wrong_columns(self, row: int, number: int) -> list[str]:
        expected = self._expected.rows[row]
        return [
            name
            for name in self._compared(row, number)
            if not value_matches(expected.get(name), self._value(number, name))
        ]

    def _value(self, number: int, column: str) -> Any:
        actual = self._actual[number]
        return actual.columns[column] if column in actual.columns else actual.metadata.get(column)

    # -- messages

    def name(self, row: int) -> str:
        lines = self._expected.lines
        return f"row {row + 1} (line {lines[row]})" if row < len(lines) else f"row {row + 1}"

    def shown(self, number: int) -> Row:
        """The columns of an actual row, with the metadata that some expected row names."""
        actual = self._actual[number]
        named = {name for row in self._expected.rows for name in row}
        return {
            **{name: value for name, value in actual.metadata.items() if name in named},
            **actual.columns,
        }

    def describe_pair(self, row: int, number: int) -> str | None:
        wrong = self._wrong_columns(row, number)
        if not wrong:
            return None
        expected = self._expected.rows[row]
        columns = "; ".join(
            f"`{name}` is {show_value(self._value(number, name))}, expected {show_value(expected.get(name))}"
            for name in wrong
        )
        return f"{self.name(row)}: {columns}\n    in {show_row(self.shown(number))}"


def _assign(row: int, candidates: Sequence[list[int]], matched: dict[int, int], tried: set[int]) -> bool:
    """Give a row one of its candidates, where possible by moving another row to one of its own (Kuhn)."""
    for number in candidates[row]:
        if number not in matched:
            matched[number] = row
            return True
    for number in candidates[row]:
        if number in tried:
            continue
        tried.add(number)
        if _assign(matched[number], candidates, matched, tried):
            matched[number] = row
            return True
    return False


# -- values


def value_matches(expected: Any, actual: Any) -> bool:
    """Compare a value that was written in YAML or Python with one of a row: `5` with a decimal, a text with a time."""
    if isinstance(expected, Containing):
        return isinstance(actual, str) and expected.text in actual
    if isinstance(actual, Mapping):
        return isinstance(expected, Mapping) and all(
            value_matches(expected.get(name), actual.get(name)) for name in {**expected, **actual}
        )
    if isinstance(actual, list | tuple):
        return (
            isinstance(expected, list | tuple)
            and len(expected) == len(actual)
            and all(map(value_matches, expected, actual))
        )
    if isinstance(expected, str):
        return _text_matches(expected, actual)
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, float) and isinstance(actual, float):
        both_nan = math.isnan(expected) and math.isnan(actual)
        return both_nan or math.isclose(expected, actual, rel_tol=1e-9)
    if isinstance(expected, float) and isinstance(actual, Decimal):
        return Decimal(str(expected)) == actual
    return bool(expected == actual)


def _text_matches(expected: str, actual: Any) -> bool:
    try:
        if isinstance(actual, dt.datetime):
            return _utc(dt.datetime.fromisoformat(expected)) == _utc(actual)
        if isinstance(actual, dt.date):
            return dt.date.fromisoformat(expected) == actual
        if isinstance(actual, Decimal):
            return Decimal(expected) == actual
    except (ValueError, InvalidOperation):
        return False
    return actual in (expected, expected.encode()) if isinstance(actual, str | bytes) else False


def _utc(time: dt.datetime) -> dt.datetime:
    return time.replace(tzinfo=dt.UTC) if time.tzinfo is None else time
