"""Replaces segments with their compacted segment, so that a crash at any moment leaves either the old segments or the
new one, never both and never neither.

    1. `<base>.log.cleaned` and its indexes are complete and synced.                (compaction_rewrite)
    2. They are renamed `.swap`, the log first; the directory is synced.            From here on the new one is valid.
    3. The old files are renamed `.deleted`, the new indexes get their final names.
    4. `.log.swap` becomes `.log`; the directory is synced.

When a log is opened, `resolve` inspects the leftovers: any `.cleaned` file means that step 2 was not complete, so the
swap files at or above it are removed; a complete `.swap` is finished with steps 3 and 4. Kafka follows the same order
and rules, so either broker can open a directory in which the other was killed. Several compacted segments of one log
are swapped one at a time, lowest offset first.
"""

import contextlib
import logging
from collections.abc import Iterable
from typing import Final

from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.batch_scan import BatchScan
from penstock.storage.files import FileSystem

SUFFIXES: Final = (".log", ".index", ".timeindex", ".txnindex")
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
DELETED: Final = ".deleted"

_DIGITS: Final = 20
_log = logging.getLogger(__name__)


def mark(files: FileSystem, directory: str, base_offset: int) -> None:
    """Step 2 without the sync: call `files.sync_dir` before `replace_old`."""
    for suffix in SUFFIXES:
        path = _path(directory, base_offset, suffix)
        if files.exists(path + CLEANED):
            files.rename(path + CLEANED, path + SWAP)


def replace_old(files: FileSystem, directory: str, base_offset: int, replaced: Iterable[int]) -> list[str]:
    """Step 3. Returns the `.deleted` files.

    No index of a replaced segment may keep its name: its positions would be wrong for the new log.
    """
    deleted = []
    for old_offset in replaced:
        for suffix in SUFFIXES if old_offset != base_offset else SUFFIXES[1:]:
            path = _path(directory, old_offset, suffix)
            if files.exists(path):
                files.rename(path, path + DELETED)
                deleted.append(path + DELETED)
    for suffix in SUFFIXES[1:]:
        path = _path(directory, base_offset, suffix)
        if files.exists(path + SWAP):
            files.rename(path + SWAP, path)
    return deleted


def finish(files: FileSystem, directory: str, base_offset: int) -> None:
    """Step 4 without the sync."""
    path = _path(directory, base_offset, ".log")
    files.rename(path + SWAP, path)


def discard(files: FileSystem, directory: str, base_offset: int) -> None:
    """Discard a compacted segment before `replace_old`; the log first, because only the log makes a swap valid."""
    for state in (SWAP, CLEANED):
        for suffix in SUFFIXES:
            with contextlib.suppress(FileNotFoundError):
                files.remove(_path(directory, base_offset, suffix) + state)


def resolve(files: FileSystem, directory: str) -> list[range]:
    """Bring the directory of a log that is about to be opened to a state without interrupted swaps.

    Returns, for each swap that was finished, the base offsets of the segments that it replaces. Also removes `.deleted`
    files: they were marked for deletion before the stop.
    """
    names = files.list(directory)
    leftovers = [name for name in names if name.endswith((CLEANED, SWAP, DELETED))]
    if not leftovers:
        return []
    _log.info(
        "Cleaning up %s after an interrupted compaction or deletion. files=%d", directory, len(leftovers)
    )
    # After a kill the names may be in memory only: nothing may be removed before they are durable.
    files.sync_dir(directory)
    cleaned = [name for name in leftovers if name.endswith(CLEANED)]
    first_cleaned = min((_offset_of(name) for name in cleaned), default=None)
    swaps = [name for name in leftovers if name.endswith(SWAP)]
    logs = {_offset_of(name) for name in swaps if name.endswith(".log" + SWAP)}
    finished = []
    for base_offset in sorted({_offset_of(name) for name in swaps}):
        if base_offset in logs and (first_cleaned is None or base_offset < first_cleaned):
            finished.append(_resume(files, directory, base_offset))
        else:
            discard(files, directory, base_offset)
    # The swap files that these invalidate must be durably gone before the proof against them is removed.
    files.sync_dir(directory)
    for name in leftovers:
        if name.endswith((CLEANED, DELETED)):
            with contextlib.suppress(FileNotFoundError):
                files.remove(f"{directory}/{name}")
    files.sync_dir(directory)
    return finished


def _resume(files: FileSystem, directory: str, base_offset: int) -> range:
    end_offset = _end_of_swap(files, directory, base_offset)
    replaced = {base_offset}
    for name in files.list(directory):
        if name.endswith(SUFFIXES) and base_offset <= _offset_of(name) < end_offset:
            replaced.add(_offset_of(name))
    for path in replace_old(files, directory, base_offset, sorted(replaced)):
        files.remove(path)
    files.sync_dir(directory)
    finish(files, directory, base_offset)
    files.sync_dir(directory)
    return range(base_offset, max(base_offset + 1, end_offset))


def _end_of_swap(files: FileSystem, directory: str, base_offset: int) -> int:
    """The offset after the last batch of the compacted segment. Old segments that begin there or later are kept: they
    are complete and newer, and the next compaction processes them again.
    """
    path = _path(directory, base_offset, ".log") + SWAP
    file = files.open(path, writable=False)
    try:
        scan = BatchScan(file.read, 0, file.size(), base_offset, check_crc=False)
        for _ in scan:
            pass
        if scan.reason is not None:
            raise CorruptRecords(f"{path}, byte {scan.position}: {scan.reason}")
        return scan.next_offset
    finally:
        file.close()


def _path(directory: str, base_offset: int, suffix: str) -> str:
    return f"{directory}/{base_offset:020d}{suffix}"


def _offset_of(name: str) -> int:
    """-1 for a file that does not belong to a segment."""
    digits = name[:_DIGITS]
    return int(digits) if len(digits) == _DIGITS and digits.isdigit() else -1
