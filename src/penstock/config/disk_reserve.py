"""How much of a disk is kept from clients: `penstock.disk.reserve.bytes`, for whoever decides by it or shows it."""

from typing import Final

AUTOMATIC: Final = -1
_RESERVE_BYTES_MAX: Final = 64 * 1024 * 1024
_DISK_PARTS: Final = 20


def reserve_bytes(setting: int, total_bytes: int) -> int:
    """The reserve in bytes on a disk of this size: as set, or 5 % of it and at most 64 MiB. 0 means none."""
    return min(_RESERVE_BYTES_MAX, total_bytes // _DISK_PARTS) if setting == AUTOMATIC else setting


def megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"
