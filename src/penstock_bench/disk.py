"""The references: what the disk and the loopback do without a broker."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Sequence

_CHUNK_BYTES = 1 << 20


def sync_loop(
    path: str, chunk: bytes, duration_s: float, *, grown_to_bytes: int = 0
) -> tuple[int, list[float]]:
    """Append `chunk` and sync in a loop; return how often, and how long each took in seconds.

    In a file that was grown beforehand no sync has to journal a new size, which is faster on most filesystems.
    """
    latencies: list[float] = []
    clock = time.perf_counter
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        position = 0
        os.ftruncate(fd, grown_to_bytes)
        os.fsync(fd)
        now = clock()
        end = now + duration_s
        while now < end:
            position += os.pwrite(fd, chunk, position)
            os.fdatasync(fd)
            done = clock()
            latencies.append(done - now)
            now = done
    finally:
        os.close(fd)
        os.unlink(path)
    return len(latencies), latencies


def write_with_syncs(path: str, total_bytes: int, sync_count: int) -> float:
    """Write `total_bytes` in `sync_count` equal pieces with a sync after each; return the seconds it took."""
    piece = memoryview(os.urandom(max(1, total_bytes // sync_count)))
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        began = time.perf_counter()
        position = 0
        for _ in range(sync_count):
            position += os.pwrite(fd, piece, position)
            os.fdatasync(fd)
        return time.perf_counter() - began
    finally:
        os.close(fd)
        os.unlink(path)


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
        fd = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def segment_files(data_dir: str, topic: str) -> list[str]:
    """Return the log files of all partitions of a topic, in order."""
    found = []
    for name in sorted(os.listdir(data_dir)):
        if name.rpartition("-")[0] == topic:
            directory = os.path.join(data_dir, name)
            found += [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith(".log")]
    return found


def total_bytes(paths: Sequence[str]) -> int:
    return sum(os.path.getsize(path) for path in paths)
