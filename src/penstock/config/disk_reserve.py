"""The reserved disk space, `penstock.disk.reserve.bytes`: used by brokers and by tools that show disks."""

from typing import Final

NAME: Final = "penstock.disk.reserve.bytes"
AUTOMATIC: Final = -1
_RESERVE_BYTES_MAX: Final = 64 * 1024 * 1024
_DISK_PARTS: Final = 20


def reserve_bytes(setting: int, total_bytes: int) -> int:
    """The reserve in bytes on a disk of this size: as set, or 5 % of it and at most 64 MiB. 0 means none."""
    return min(_RESERVE_BYTES_MAX, total_bytes // _DISK_PARTS) if setting == AUTOMATIC else setting


def resume_bytes(reserve: int) -> int:
    """The free bytes at which a full disk accepts records again: more than the reserve, or it would be full at once."""
    return reserve + reserve // 4


def megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"
