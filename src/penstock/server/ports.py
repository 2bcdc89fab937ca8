"""The interfaces of the machine that a broker uses. All are passed to `Broker`, so that the same broker runs as a
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
    """For timeouts of connections and between nodes; a test that moves `clock` does not move this one."""
    files: FileSystem
    network: Network
    randomness: random.Random
    threads: Callable[[int, str], OffloadPool]
    """Makes a pool of at most this many threads."""
    open_ring: Callable[[], SyncRing | None]
    """Returns None if syncs must not run in the kernel."""
    compactor: MakeCompactor
    descriptor_limit: Callable[[], int]


def real_ports(*, clock: Clock | None = None, files: FileSystem | None = None) -> Ports:
    """The ports of a dedicated broker process."""
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
    """For a broker that may be killed during a sync, which a ring does not survive."""
