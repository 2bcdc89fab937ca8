"""Looks after a table by rule: merges small files when there are enough of them, and removes old versions.

A commit of a writer comes first. Where maintenance meets one, it gives way and leaves the rest to its next pass; what a
pass has already done stays done. So it may run beside any number of writers, from any number of processes.
"""

import msgspec

from penstock.spark.lake.compaction import groups_to_merge
from penstock.spark.lake.errors import CommitConflict
from penstock.spark.lake.table import Compaction, Table


class MaintenanceRule(msgspec.Struct, frozen=True, kw_only=True):
    when_files: int  # merge when this many files are small
    file_size_bytes: int
    keep_versions_ms: int  # younger versions, and files of batches that may be still written, are kept


class Maintained(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one pass."""

    files_merged: int = 0
    files_made: int = 0
    files_removed: int = 0
    gave_way: bool = False  # another commit came first


def maintain(table: Table, rule: MaintenanceRule, *, removes_old_files: bool) -> Maintained:
    """Do one pass over a table, if there is one. Removing old files lists all of them, so not each pass does."""
    if table.state() is None:
        return Maintained()
    done, removed, gave_way = Compaction(files_before=0, files_after=0), list[str](), False
    try:
        if _small_files(table, rule) >= rule.when_files:
            done = table.compact(rule.file_size_bytes)
        if removes_old_files:
            removed = table.vacuum(rule.keep_versions_ms, is_dry_run=False)
    except CommitConflict:
        gave_way = True
    return Maintained(
        files_merged=done.files_before,
        files_made=done.files_after,
        files_removed=len(removed),
        gave_way=gave_way,
    )


def _small_files(table: Table, rule: MaintenanceRule) -> int:
    """Count the files that a compaction would merge."""
    return sum(map(len, groups_to_merge(table.files(), rule.file_size_bytes)))
