"""Keeps memory that was freed, because a broker soon needs it again.

A fetch reads a megabyte into a fresh buffer, and frees it when it is sent. With glibc's defaults the heap grows and
shrinks by system calls for each of them, and every page is cleared and faulted in again: that costs four times the
copying. For a process that is a broker and nothing else; an embedded one leaves its host's allocator alone.
"""

import ctypes

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

KEPT_BYTES = 64 * 1024 * 1024
_MMAP_THRESHOLD_MAX = 32 * 1024 * 1024  # glibc takes no more


def keep_freed_memory() -> bool:
    """Tell glibc to keep up to `KEPT_BYTES`; False where the C library has no such setting."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_MAX) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))
