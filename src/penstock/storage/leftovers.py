"""What an interrupted run left in a log's directory: finished where it was decided, removed where it was not.

*.deleted   a segment that was taken out of the log: removed
*.cleaned   a compaction that was not finished: removed
*.swap      a compaction that was: takes the place of the segments it was made from
*.tmp       a small file that was not written to its end: removed
"""

import logging
from collections.abc import Iterable
from typing import Final

from penstock.storage.files import FileSystem
from penstock.storage.segment import DELETED, LOG
from penstock.storage.segment_scan import SegmentScan

CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
TEMPORARY: Final = ".tmp"
_SUFFIXES: Final = (DELETED, CLEANED, SWAP, TEMPORARY)

_log = logging.getLogger(__name__)


def base_offset_of(name: str) -> int:
    """The offset that a segment's file is named after, -1 for any other file."""
    digits = name.partition(".")[0]
    return int(digits) if len(digits) == 20 and digits.isdecimal() else -1


def settle_leftovers(files: FileSystem, directory: str, names: list[str]) -> list[str]:
    """Settle everything interrupted; gives the names that are in the directory then. Waits for the disk."""
    if not any(name.endswith(_SUFFIXES) for name in names):
        return names
    unfinished = [base_offset_of(name) for name in names if name.endswith(CLEANED)]
    first_unfinished = min(unfinished, default=2**63)
    swaps = []
    for name in names:
        if name.endswith(SWAP) and base_offset_of(name) < first_unfinished:
            swaps.append(name)
        elif name.endswith(_SUFFIXES):
            _log.info("removing %s/%s, left by an interrupted run", directory, name)
            files.remove(f"{directory}/{name}")
    if swaps:
        _complete_swaps(files, directory, swaps, names)
    files.sync_dir(directory)
    return files.list(directory)


def _complete_swaps(files: FileSystem, directory: str, swaps: list[str], names: Iterable[str]) -> None:
    """Remove the segments that the swapped ones were made from, and rename those to their final names."""
    logs = [name for name in swaps if name.endswith(LOG + SWAP)]
    if logs:
        begin = min(base_offset_of(name) for name in logs)
        end = max(_end_offset(files, directory, name) for name in logs)
        replaced = {base_offset_of(name) for name in logs}
        for name in names:
            base = base_offset_of(name)
            if not name.endswith(_SUFFIXES) and (begin <= base < end or base in replaced):
                _log.info("removing %s/%s: it has been compacted", directory, name)
                files.remove(f"{directory}/{name}")
    for name in swaps:
        _log.info("completing the compaction that made %s/%s", directory, name)
        files.rename(f"{directory}/{name}", f"{directory}/{name[: -len(SWAP)]}")


def _end_offset(files: FileSystem, directory: str, name: str) -> int:
    file = files.open(f"{directory}/{name}", writable=False)
    try:
        scan = SegmentScan(file.read, 0, file.size(), base_offset_of(name), check_crc=False)
        for _ in scan:
            pass
        return scan.next_offset
    finally:
        file.close()
