"""What a broker uses of the machine it runs on. All of it is given to `Broker`, so that the same broker runs as a
process, inside a test, and on a simulated machine.
"""

import random
from collections.abc import Callable

import msgspec

from penstock.runtime.clock import Clock, SystemClock
from penstock.runtime.offload import Offload, OffloadPool, ThreadOffload
from penstock.server.descriptors import raise_limit
from penstock.server.network import Network, SocketNetwork
from penstock.storage.compaction.worker import Compactor, OffloadedCompactor, ProcessCompactor
from penstock.storage.files import FileSystem, RealFileSystem
from penstock.storage.ring import SyncRing, open_ring

MakeCompactor = Callable[[FileSystem, Offload, Callable[[], float]], Compactor]
"""Given the files, where blocking work may run, and the bytes per second that all passes together may use."""


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    clock: Clock
    """For records, retention, groups and transactions."""
    liveness: Clock
    """By which connections end and nodes wait for each other; a test that moves `clock` leaves this one alone."""
    files: FileSystem
    network: Network
    randomness: random.Random
    threads: Callable[[int, str], OffloadPool]
    """Makes a pool of so many threads at most."""
    open_ring: Callable[[], SyncRing | None]
    """None where the kernel is not to be left alone with a sync."""
    compactor: MakeCompactor
    descriptor_limit: Callable[[], int]


def real_ports(*, clock: Clock | None = None, files: FileSystem | None = None) -> Ports:
    """Those of a process of its own."""
    clock = clock or SystemClock()
    return Ports(
        clock=clock,
        liveness=clock,
        files=files or RealFileSystem(),
        network=SocketNetwork(),
        randomness=random.SystemRandom(),
        threads=ThreadOffload,
        open_ring=open_ring,
        compactor=_compact_in_process,
        descriptor_limit=raise_limit,
    )


def _compact_in_process(
    _files: FileSystem, _offload: Offload, bytes_per_second: Callable[[], float]
) -> Compactor:
    return ProcessCompactor(bytes_per_second)


def compact_on_offload(
    files: FileSystem, offload: Offload, _bytes_per_second: Callable[[], float]
) -> Compactor:
    """For a broker that may start no processes. Its passes have no limit of bytes per second."""
    return OffloadedCompactor(files, offload)


def no_ring() -> None:
    """For a broker that may be killed while a sync is under way, which a ring does not survive."""
