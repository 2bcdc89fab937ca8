"""Looks after the tables of a running pipeline: one thread, one table at a time.

It runs in the driver, apart from the queries. They never wait for it, and its failures are reported, not theirs.
"""

import threading
from collections.abc import Callable

import msgspec

from penstock.spark.lake.formats import open_table
from penstock.spark.lake.location import Location
from penstock.spark.pipeline.core.model import Maintain, Pipeline
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.progress.status import MaintenanceStatus
from penstock.spark.text import one_line

_FIRST_PASS_MS = 60_000  # after the start, unless the rule says sooner
_REMOVAL_MS = 3_600_000  # removing old files lists the whole table
_CLOSE_TIMEOUT_S = 10.0
_REASON_LENGTH_MAX = 300


class _LookedAfter(msgspec.Struct, kw_only=True):
    location: Location
    table_format: str
    rule: Maintain
    status: MaintenanceStatus
    next_ms: int
    next_removal_ms: int = 0


class TableMaintenance:
    def __init__(self, pipeline: Pipeline, report: Callable[[str], None], now_ms: Callable[[], int]) -> None:
        self._report = report
        self._now_ms = now_ms
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._tables: list[_LookedAfter] = []
        for output in pipeline.outputs:
            target = output.target
            if not isinstance(target, TableTarget) or target.for_each_topic:
                continue
            rule = target.maintain or pipeline.maintain
            if rule is not None:
                looked_after = _LookedAfter(
                    location=target.location(pipeline),
                    table_format=target.table_format,
                    rule=rule,
                    status=MaintenanceStatus(output=output.name),
                    next_ms=now_ms() + min(rule.every_ms, _FIRST_PASS_MS),
                )
                self._tables.append(looked_after)

    def statuses(self) -> tuple[MaintenanceStatus, ...]:
        return tuple(each.status for each in self._tables)

    def start(self) -> None:
        """Look after the tables from now on, in the background."""
        if self._tables:
            self._thread = threading.Thread(target=self._work, name="table-maintenance", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Begin nothing more. What a pass leaves half-done is in no table, and a later pass removes it."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_TIMEOUT_S)

    def run_pass(self) -> None:
        """Look after every table now."""
        for table in self._tables:
            self._maintain(table)

    def _work(self) -> None:
        while not self._closing.wait(self._pause_s()):
            for table in self._tables:
                if not self._closing.is_set() and self._now_ms() >= table.next_ms:
                    self._maintain(table)

    def _pause_s(self) -> float:
        return max(0.0, min(each.next_ms for each in self._tables) - self._now_ms()) / 1000

    def _maintain(self, table: _LookedAfter) -> None:
        try:
            table.status = self._do_pass(table)
        except Exception as error:  # noqa: BLE001 - whatever the libraries raise, the queries go on
            reason = one_line(str(error) or type(error).__name__, _REASON_LENGTH_MAX)
            if reason != table.status.last_error:
                self._report(f"cannot maintain the table of {table.status.output}, will retry: {reason}")
            table.status = msgspec.structs.replace(
                table.status, failures=table.status.failures + 1, last_error=reason
            )
        table.next_ms = self._now_ms() + table.rule.every_ms

    def _do_pass(self, table: _LookedAfter) -> MaintenanceStatus:
        from penstock.spark.lake.maintenance import MaintenanceRule, maintain  # noqa: PLC0415 - loads Arrow

        rule = MaintenanceRule(
            when_files=table.rule.compact.when_files,
            file_size_bytes=table.rule.compact.target_mb << 20,
            keep_versions_ms=table.rule.keep_versions_ms,
        )
        removes = self._now_ms() >= table.next_removal_ms
        done = maintain(open_table(table.location, table.table_format), rule, removes_old_files=removes)
        if removes and not done.gave_way:
            table.next_removal_ms = self._now_ms() + _REMOVAL_MS
        status = table.status
        return msgspec.structs.replace(
            status,
            passes=status.passes + 1,
            last_ms=self._now_ms(),
            files_merged=status.files_merged + done.files_merged,
            files_made=status.files_made + done.files_made,
            files_removed=status.files_removed + done.files_removed,
            conflicts=status.conflicts + done.gave_way,
            last_error=None,
        )
