"""Reads /proc for a process and its descendants."""

import contextlib
import os
from typing import Final

TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def parents() -> dict[int, int]:
    """Return every process of the machine with its parent."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))) is not None:
            found[int(name)] = int(fields[1])
    return found


def descendants(of: dict[int, int], ancestor: int) -> set[int]:
    """Return all descendants of a process, from a map of every process to its parent."""
    found: set[int] = set()
    newest = {ancestor}
    while newest:
        newest = {pid for pid, parent in of.items() if parent in newest} - found
        found |= newest
    return found


def tree(root: int) -> set[int]:
    """Return the process and all its descendants."""
    return {root} | descendants(parents(), root)


def memory_kib(pid: int, kind: str = "Rss") -> int:
    """Return the resident memory, or `Pss`, in which shared pages count in part; 0 when the process has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"{kind}:"):
                return int(line.split()[1])
    return 0


def cpu_s(pid: int) -> float:
    """Return the processor time of all threads in seconds, 0 when the process has ended."""
    return sum(cpu_split_s(pid))


def cpu_split_s(pid: int) -> tuple[float, float]:
    """Return the processor time outside of the kernel and in it."""
    fields = _stat(pid)
    return (int(fields[11]) * TICK_S, int(fields[12]) * TICK_S) if fields is not None else (0.0, 0.0)


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the name, which may contain spaces."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()
    return None
