"""Direct writes, which bypass the page cache and are durable when they end (`O_DIRECT`, `O_DSYNC`).

They begin and end at blocks, and their memory is aligned to pages. ADR 20 describes the benefit.
"""

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterable, Sequence

from penstock.storage.files import Buffer, File, FileSystem

DIRECT_BLOCK_BYTES = 4096
"""Most disks take 512 bytes too, but rewrite a block of this size: a power cut may tear its previous content."""


class AlignedBuffer:
    """Memory for one write at a time; as large as the largest so far."""

    def __init__(self) -> None:
        self._grow(64 << 10)

    def _grow(self, size_bytes: int) -> None:
        self._memory = mmap.mmap(-1, size_bytes)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def fill(self, buffers: Sequence[Buffer]) -> int:
        """Returns the total number of bytes. Raises `OSError` when there is no memory."""
        data = b"".join(buffers)
        if len(data) > len(self._memory):
            self._grow(2 * len(data))
        self._memory[: len(data)] = data
        return len(data)

    def view(self, size_bytes: int) -> memoryview:
        return memoryview(self._memory)[:size_bytes]


def open_direct(file: File) -> int | None:
    """A second descriptor of an open file; None if the file system does not support direct writes. Waits for the disk.

    To find out, it rewrites the second block unchanged.
    """
    if file.descriptor is None:
        return None
    buffer = AlignedBuffer()
    try:
        flags = os.O_RDWR | os.O_DIRECT | os.O_DSYNC | os.O_CLOEXEC
        descriptor = os.open(f"/proc/self/fd/{file.descriptor}", flags)
    except (OSError, AttributeError):  # only Linux has it
        return None
    with contextlib.suppress(OSError):
        buffer.fill((file.read(DIRECT_BLOCK_BYTES, DIRECT_BLOCK_BYTES),))
        if os.pwrite(descriptor, buffer.view(DIRECT_BLOCK_BYTES), DIRECT_BLOCK_BYTES) == DIRECT_BLOCK_BYTES:
            return descriptor
    os.close(descriptor)
    return None


def wait_for_direct_writes(files: FileSystem, paths: Iterable[str]) -> None:
    """Wait for the direct writes that a killed broker has left in the kernel.

    The process ends before they do, and they would overwrite the next process's writes. Truncating a file waits until
    all of them have ended.
    """
    for path in paths:
        with contextlib.suppress(OSError):  # the file is damaged: its reader reports that
            file = files.open(path)
            try:
                if file.descriptor is not None:
                    size_bytes = file.size()
                    file.truncate(size_bytes + 1)
                    file.truncate(size_bytes)
            finally:
                file.close()
