"""Memory settings of a broker process; an embedded broker does not change its host's settings.

Freed memory is kept, because a broker soon needs it again. A fetch reads a megabyte into a fresh buffer, and frees it
when it is sent. With glibc's defaults the heap grows and shrinks by system calls for each of them, and every page is
cleared and faulted in again: that costs four times the copying.

The garbage collector runs less often. A request in flight is some fifteen objects that it walks, and no cycle: with
64 in flight the default of Python 3.11, one search for every 700 new objects (2,000 as of 3.13), took nearly a tenth of
the processor. The objects that imports create stay for good: the collector never walks them.
"""

import contextlib
import ctypes
import gc
from collections.abc import Iterator

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

KEPT_BYTES = 64 * 1024 * 1024
_MMAP_THRESHOLD_MAX = 32 * 1024 * 1024  # glibc takes no more
NEW_OBJECTS_MAX = 10_000
"""New objects between two runs of the garbage collector."""


def keep_freed_memory() -> bool:
    """Configure glibc to keep up to `KEPT_BYTES`. Returns False if the C library has no such setting."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_MAX) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))


def collect_less_often() -> None:
    """Run the garbage collector less often."""
    gc.set_threshold(NEW_OBJECTS_MAX, *gc.get_threshold()[1:])


@contextlib.contextmanager
def imports_uncollected() -> Iterator[None]:
    """Run no garbage collector while modules are imported, and let no later run walk their objects: they stay."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
