"""How much of a disk is kept from clients: `penstock.disk.reserve.bytes`, for brokers and for who shows their disks."""

from typing import Final

NAME: Final = "penstock.disk.reserve.bytes"
AUTOMATIC: Final = -1
_RESERVE_BYTES_MAX: Final = 64 * 1024 * 1024
_DISK_PARTS: Final = 20


def reserve_bytes(setting: int, total_bytes: int) -> int:
    """The reserve in bytes on a disk of this size: as set, or 5 % of it and at most 64 MiB. 0 means none."""
    return min(_RESERVE_BYTES_MAX, total_bytes // _DISK_PARTS) if setting == AUTOMATIC else setting


def resume_bytes(reserve: int) -> int:
    """How much must be free before a disk that was full takes records again: else it would be full at once."""
    return reserve + reserve // 4


def megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"
