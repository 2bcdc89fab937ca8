"""Syncs by the kernel: Linux's io_uring, for `fdatasync` and for writes that are durable when they end.

A sync on a thread costs a lone producer some eight futex calls and two hand-overs of the interpreter's lock. Here it is
one system call for all syncs that begin together; the kernel's own workers wait for the disk, and the event loop sees
the ring's descriptor become readable when one has ended.

Two rings of memory are shared with the kernel (see io_uring(7)). Submissions are 64-byte entries:

     0  opcode u8, flags u8, ioprio u16    3 (fsync) or 23 (write), 0, 0
     4  descriptor i32
     8  offset u64, address u64, length u32    of a write; 0 for a sync: all of the file
    28  flags u32                          1 (fdatasync); 0 for a write
    32  user data u64                      our ticket, which comes back with the result
    40  24 bytes of zeros

Completions are 16-byte entries: user data u64, result i32 (0, the bytes written, or a negative errno), flags u32. Each
ring has a head, moved by the consumer, and a tail, moved by the producer, as free-running u32 counters. No barrier is
needed: the kernel reads our tail within our system call, and we look at its tail only after it has made the descriptor
readable.
"""

import asyncio
import ctypes
import errno
import logging
import mmap
import os
import struct
import sys
from collections.abc import Callable, Sequence

_log = logging.getLogger(__name__)

ENTRIES = 256
"""The completion ring is twice as large, so it never overflows."""

_SETUP, _ENTER = 425, 426  # the same on every architecture
_RINGS_AT, _SUBMISSIONS_AT = 0, 0x10000000
_FEATURE_ONE_MAPPING = 1  # for both rings, since Linux 5.4
_FEATURE_CURRENT_POSITION = 8  # since Linux 5.6, as writes are
_FSYNC, _DATASYNC, _WRITE = 3, 1, 23

_SUBMISSION = struct.Struct("=BBHiQQIIQ24x")
_COMPLETION = struct.Struct("=QiI")
_PARAMETERS_BYTES = 120
_FEATURES = struct.Struct("=20x I")
_SUBMISSION_OFFSETS = struct.Struct("=40x II 16x I")  # head, tail, and the array that names the entries
_COMPLETION_OFFSETS = struct.Struct("=4x I 72x II 12x I")  # the count of entries; head, tail, the entries
_U32 = 0xFFFFFFFF

Ended = Callable[[OSError | None], None]
"""Called once, by `reap`, when a sync has ended."""


class RingRefused(Exception):
    """The kernel has no io_uring, or does not let this process use it (seccomp, `kernel.io_uring_disabled`)."""


class SyncRing:
    """Only the event loop's thread calls it. A descriptor must stay open until its sync has ended."""

    def __init__(self, entries: int) -> None:
        """`entries`, a power of two, is the maximum number of syncs in flight. Raises `RingRefused`."""
        if sys.platform != "linux":
            raise RingRefused("only Linux has it")
        # PyDLL keeps the interpreter's lock: the call waits for nothing.
        syscall = ctypes.PyDLL(None, use_errno=True).syscall
        self._syscall: Callable[..., int] = syscall
        parameters = ctypes.create_string_buffer(_PARAMETERS_BYTES)
        self.descriptor = self._syscall(_SETUP, entries, parameters)
        """Readable when a sync has ended: then call `reap`."""
        if self.descriptor < 0:
            raise RingRefused(os.strerror(ctypes.get_errno()))
        try:
            self._map(entries, parameters.raw)
        except (OSError, RingRefused) as error:
            os.close(self.descriptor)
            raise RingRefused(str(error)) from error
        self._entries = entries
        self._can_write = bool(_FEATURES.unpack_from(parameters.raw)[0] & _FEATURE_CURRENT_POSITION)
        self._tickets: dict[int, tuple[Ended, int]] = {}
        """The callback for each ticket, and the result that means success."""
        self._next_ticket = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def watch(self) -> None:
        """Let the running event loop call `reap` when a sync has ended, from now on."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self.descriptor, self.reap)

    def unwatch(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self.descriptor)
            self._loop = None

    def _map(self, entries: int, parameters: bytes) -> None:
        if not _FEATURES.unpack_from(parameters)[0] & _FEATURE_ONE_MAPPING:
            raise RingRefused("it takes Linux 5.4")
        head, tail, array = _SUBMISSION_OFFSETS.unpack_from(parameters)
        completions_max, taken, added, completions = _COMPLETION_OFFSETS.unpack_from(parameters)
        size_bytes = max(array + 4 * entries, completions + completions_max * _COMPLETION.size)
        self._rings = mmap.mmap(self.descriptor, size_bytes, mmap.MAP_SHARED, offset=_RINGS_AT)
        self._submissions = mmap.mmap(
            self.descriptor, entries * _SUBMISSION.size, mmap.MAP_SHARED, offset=_SUBMISSIONS_AT
        )
        self._words: memoryview[int] = memoryview(self._rings).cast("I")
        self._head, self._tail, self._taken, self._added = (o // 4 for o in (head, tail, taken, added))
        self._completions_at, self._completions_max = completions, completions_max
        for number in range(entries):
            self._words[array // 4 + number] = number  # submissions are used in order

    def begin(self, syncs: Sequence[tuple[int, Ended]]) -> int:
        """Begin to `fdatasync` each descriptor. Returns how many, from the first one, the kernel has accepted.

        The caller must sync the others; their callbacks are not called.
        """
        count = 0
        for descriptor, ended in syncs[: self._entries - len(self._tickets)]:
            self._prepare(count, (_FSYNC, 0, 0, descriptor, 0, 0, 0, _DATASYNC), ended, 0)
            count += 1
        return self._submit(count)

    def write(self, descriptor: int, address: int, size_bytes: int, position: int, ended: Ended) -> bool:
        """Begin to write the memory at `address`, which must not change until the write ends. Returns True if it began.

        The caller must perform a refused write; its callback is not called.
        """
        if not self._can_write or len(self._tickets) == self._entries:
            return False
        self._prepare(0, (_WRITE, 0, 0, descriptor, position, address, size_bytes, 0), ended, size_bytes)
        return bool(self._submit(1))

    def _prepare(self, index: int, submission: Sequence[int], ended: Ended, result: int) -> None:
        tail, ticket = self._words[self._tail] + index, self._next_ticket + index
        place = (tail & (self._entries - 1)) * _SUBMISSION.size
        _SUBMISSION.pack_into(self._submissions, place, *submission, ticket)
        self._tickets[ticket] = ended, result

    def _submit(self, count: int) -> int:
        """Submit the prepared entries. Returns how many of them the kernel has accepted."""
        words = self._words
        first = words[self._tail]
        words[self._tail] = (first + count) & _U32
        if count:
            self._syscall(_ENTER, self.descriptor, count, 0, 0, None, 0)
        accepted: int = (words[self._head] - first) & _U32
        words[self._tail] = words[self._head]  # entries not accepted now must not be accepted later
        self._next_ticket += accepted
        for refused in range(accepted, count):
            del self._tickets[self._next_ticket - accepted + refused]
        return accepted

    def reap(self) -> None:
        """Call the callbacks of all syncs that have ended."""
        words = self._words
        head = words[self._taken]
        ended: list[tuple[Ended, OSError | None]] = []
        while head != words[self._added]:
            place = self._completions_at + head % self._completions_max * _COMPLETION.size
            ticket, result, _ = _COMPLETION.unpack_from(self._rings, place)
            tell, success = self._tickets.pop(ticket)
            ended.append((tell, None if result == success else _error_of(result)))
            head = (head + 1) & _U32
        words[self._taken] = head
        for tell, error in ended:
            tell(error)

    @property
    def in_flight_count(self) -> int:
        return len(self._tickets)

    def close(self) -> None:
        """Nothing may be in flight."""
        assert not self._tickets, "syncs are in flight"
        self.unwatch()
        self._words.release()
        self._rings.close()
        self._submissions.close()
        os.close(self.descriptor)


def _error_of(result: int) -> OSError:
    if result >= 0:
        return OSError(errno.EIO, f"only {result} bytes were written")
    return OSError(-result, os.strerror(-result))


def open_ring(entries: int = ENTRIES) -> SyncRing | None:
    """A ring, or None where the kernel refuses: syncs then run on threads."""
    try:
        return SyncRing(entries)
    except RingRefused as refused:
        _log.info("Cannot use io_uring: %s; syncs run on threads", refused)
        return None
