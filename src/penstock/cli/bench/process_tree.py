"""What /proc tells of a process and of everything below it."""

import contextlib
import os
from typing import Final

TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def parents() -> dict[int, int]:
    """Every process of the machine, and its parent."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))) is not None:
            found[int(name)] = int(fields[1])
    return found


def descendants(of: dict[int, int], ancestor: int) -> set[int]:
    """All processes below one, from a map of every process to its parent."""
    found: set[int] = set()
    newest = {ancestor}
    while newest:
        newest = {pid for pid, parent in of.items() if parent in newest} - found
        found |= newest
    return found


def tree(root: int) -> set[int]:
    """The process and all below it."""
    return {root} | descendants(parents(), root)


def rss_kib(pid: int) -> int:
    """Resident memory; nothing when the process has gone."""
    with (
        contextlib.suppress(OSError),
        open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file,
    ):
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def cpu_s(pid: int) -> float:
    """Seconds of processor time that it has taken; nothing when the process has gone."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) * TICK_S if fields is not None else 0.0


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat that follow the name, which may hold anything."""
    with (
        contextlib.suppress(OSError),
        open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file,
    ):
        return file.read().rpartition(")")[2].split()
    return None
