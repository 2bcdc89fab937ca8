"""The rules by which changes are merged into a table, and the columns that they need. No I/O."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.lake.errors import SchemaMismatch, TableError
from penstock.spark.lake.merge.settings import DELETE_RETENTION_MS, NO_HISTORY, SCD2
from penstock.spark.record_columns import DELETED, OFFSET, TIE_BREAK, TIMESTAMP

PROPERTY = "penstock.merge"  # the table property with the rules

VALID_FROM, VALID_TO, IS_CURRENT = "valid_from", "valid_to", "is_current"
_HISTORY_COLUMNS = (VALID_FROM, VALID_TO, IS_CURRENT)


class MergeRules(msgspec.Struct, frozen=True, kw_only=True):
    """How rows are found and ordered. Of the rows of a key, the greatest by `order_by` is the newest.

    Without `order_by` each batch is newer than those before it, as the results of an aggregate are.
    """

    key: tuple[str, ...]
    order_by: tuple[str, ...] = ()
    has_history: bool = False
    delete_retention_ms: int = DELETE_RETENTION_MS

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the key and of the order, each once."""
        return tuple(dict.fromkeys((*self.key, *self.order_by)))

    def for_rows(self, rows: pa.Schema, where: str) -> "MergeRules":
        """Return the rules with the default order of rows with these columns; raise if they do not fit."""
        default = (TIMESTAMP, OFFSET) if self.has_history else (OFFSET,)
        order_by = self.order_by or tuple(name for name in default if name in rows.names)
        resolved = msgspec.structs.replace(self, order_by=order_by)
        resolved._check_columns(rows, where)  # noqa: SLF001 - another instance of this class
        return resolved

    def _check_columns(self, rows: pa.Schema, where: str) -> None:
        for option, names in (("key", self.key), ("order_by", self.order_by)):
            missing = [name for name in names if name not in rows.names]
            if missing:
                raise SchemaMismatch(
                    f"the changes for table {where} have no column {', '.join(missing)}, which {option} names: "
                    f"they have {', '.join(rows.names)}"
                )
            wrong = [name for name in names if not _can_be(option, rows.field(name).type)]
            if wrong:
                kinds = ", ".join(f"{name} ({rows.field(name).type})" for name in wrong)
                raise SchemaMismatch(
                    f"table {where} cannot have column {kinds} in {option}: use a number, text, date or timestamp"
                )
        if DELETED in rows.names and rows.field(DELETED).type != pa.bool_():
            raise SchemaMismatch(f"column {DELETED} of the changes for table {where} must be a boolean")
        if self.has_history:
            self._check_history(rows, where)

    def _check_history(self, rows: pa.Schema, where: str) -> None:
        if not self.order_by:
            raise SchemaMismatch(
                f"table {where} keeps history, so its changes need an order: set order_by to the column with the time "
                "from which a row is valid"
            )
        taken = [name for name in _HISTORY_COLUMNS if name in rows.names]
        if taken:
            raise SchemaMismatch(
                f"table {where} keeps history in the columns {', '.join(_HISTORY_COLUMNS)}: rename column "
                f"{', '.join(taken)} of the changes"
            )

    def table_rows(self, changes: pa.Schema) -> pa.Schema:
        """Return the columns that the table has, of changes with these columns."""
        fields = [field for field in changes if field.name not in {DELETED, TIE_BREAK}]
        if self.has_history:
            time = changes.field(self.order_by[0]).type
            fields += [pa.field(VALID_FROM, time), pa.field(VALID_TO, time), pa.field(IS_CURRENT, pa.bool_())]
        return pa.schema(fields)

    def encode(self) -> str:
        """Return the value of the table property; the retention is not part of it, as it may change."""
        history = SCD2 if self.has_history else NO_HISTORY
        return msgspec.json.encode({"key": self.key, "order_by": self.order_by, "history": history}).decode()

    def describe(self) -> str:
        order = f", order_by {', '.join(self.order_by)}" if self.order_by else ", no order_by"
        return f"key {', '.join(self.key)}{order}, history {SCD2 if self.has_history else NO_HISTORY}"


def decode_rules(content: str | None) -> MergeRules | None:
    if content is None:
        return None
    found: dict[str, Any] = msgspec.json.decode(content)
    return MergeRules(
        key=tuple(found["key"]), order_by=tuple(found["order_by"]), has_history=found["history"] == SCD2
    )


def check_rules(table: MergeRules | None, commit: MergeRules | None, *, where: str) -> None:
    """Refuse to write to a table in another way than before."""
    if table is None and commit is None:
        return
    if table is None:
        raise TableError(
            f"table {where} has rows that were appended, which may share a key: write the upserts to another path, "
            "and copy the rows there with mode=upsert"
        )
    if commit is None:
        raise TableError(
            f"table {where} keeps one row for each key ({table.describe()}): write to it with mode=upsert, or to "
            "another path"
        )
    if table.encode() != commit.encode():
        raise TableError(
            f"table {where} was made with {table.describe()}, and this write has {commit.describe()}: use the same, or "
            "write to another path"
        )


def check_keys(changes: pa.RecordBatch, key: Sequence[str], where: str) -> None:
    for name in key:
        nulls = changes.column(name).null_count
        if nulls:
            raise TableError(
                f"{nulls} of {changes.num_rows} changes for table {where} have no {name}, which is in its key: filter "
                f"them out, or expect `{name} IS NOT NULL` with otherwise: dead-letter"
            )


def check_order(changes: pa.RecordBatch, rules: MergeRules, where: str) -> None:
    """Refuse changes that would silently do nothing, or be valid from an unknown time."""
    if not rules.order_by:
        return
    first = rules.order_by[0]
    unordered: Any = pc.is_null(changes.column(first))
    if rules.has_history and (nulls := pc.sum(unordered).as_py()):
        raise TableError(
            f"{nulls} of {changes.num_rows} changes for table {where} have no {first}, from which their rows are "
            f"valid: filter them out, or expect `{first} IS NOT NULL` with otherwise: dead-letter"
        )
    if DELETED in changes.schema.names:
        lost = pc.sum(pc.and_(unordered, changes.column(DELETED))).as_py()
        if lost:
            raise TableError(
                f"{lost} of {changes.num_rows} changes for table {where} delete a key and have no {first}, so they are "
                "older than any row and would delete nothing: give them an order in a step before, or leave order_by "
                "out to order the rows by the offsets of their records"
            )


def _can_be(option: str, kind: Any) -> bool:
    if pa.types.is_nested(kind):
        return False
    return option != "key" or not pa.types.is_floating(kind)
