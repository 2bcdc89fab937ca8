"""The references: what the disk and the loopback do without a broker."""

import contextlib
import glob
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence

from penstock_bench.timing import repeat_for

_CHUNK_BYTES = 1 << 20


@contextlib.contextmanager
def _new_file(path: str) -> Iterator[int]:
    """Open a new file, and remove it afterwards."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
        os.unlink(path)


def sync_loop(path: str, chunk: bytes, duration_s: float, *, grown_to_bytes: int = 0) -> list[float]:
    """Append `chunk` and sync in a loop; return how long each took in seconds.

    In a file that was grown beforehand no sync has to journal a new size, which is faster on most filesystems.
    """
    position = 0
    with _new_file(path) as fd:

        def append() -> None:
            nonlocal position
            position += os.pwrite(fd, chunk, position)
            os.fdatasync(fd)

        os.ftruncate(fd, grown_to_bytes)
        os.fsync(fd)
        return repeat_for(duration_s, append)


def write_with_syncs(path: str, total_bytes: int, sync_count: int) -> float:
    """Write `total_bytes` in `sync_count` equal pieces with a sync after each; return the seconds it took."""
    piece = memoryview(os.urandom(max(1, total_bytes // sync_count)))
    with _new_file(path) as fd:
        began = time.perf_counter()
        position = 0
        for _ in range(sync_count):
            position += os.pwrite(fd, piece, position)
            os.fdatasync(fd)
        return time.perf_counter() - began


def cat(paths: Sequence[str]) -> float:
    """Return the seconds that `cat` of the files to /dev/null takes."""
    began = time.perf_counter()
    # A fixed command over files that the benchmark wrote.
    subprocess.run(["cat", *paths], stdout=subprocess.DEVNULL, check=True, timeout=600)  # noqa: S603, S607
    return time.perf_counter() - began


def cat_over_loopback(paths: Sequence[str]) -> float:
    """Return the seconds to send the files over loopback: no server on this machine can be faster."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = threading.Thread(target=_send_files, args=(paths, listener.getsockname()), daemon=True)
        began = time.perf_counter()
        sender.start()
        connection, _ = listener.accept()
        buffer = bytearray(_CHUNK_BYTES)
        with connection:
            while connection.recv_into(buffer, 0, socket.MSG_WAITALL):
                pass
        took_s = time.perf_counter() - began
    sender.join()
    return took_s


def _send_files(paths: Sequence[str], address: tuple[str, int]) -> None:
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    with socket.create_connection(address) as connection:
        for path in paths:
            with open(path, "rb", buffering=0) as file:
                while count := file.readinto(buffer):
                    connection.sendall(buffer[:count])


def drop_page_cache(paths: Sequence[str]) -> None:
    """Drop the pages of these files that are on the disk from the page cache. Needs no privilege."""
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def segment_files(data_dir: str, topic: str) -> list[str]:
    """Return the log files of all partitions of a topic, in order."""
    partitions = [name for name in sorted(os.listdir(data_dir)) if name.rpartition("-")[0] == topic]
    return [path for each in partitions for path in sorted(glob.glob(os.path.join(data_dir, each, "*.log")))]


def total_bytes(paths: Sequence[str]) -> int:
    return sum(os.path.getsize(path) for path in paths)
