"""Syncs through io_uring. Where the kernel refuses it, the tests check that there is no ring, and a reason."""

import asyncio
import errno
import os
import select
from functools import partial
from pathlib import Path

import pytest

from penstock.storage.direct import AlignedBuffer
from penstock.storage.ring import RingRefused, SyncRing, open_ring


def ring_or_reason(entries: int) -> SyncRing | None:
    ring = open_ring(entries)
    if ring is None:
        with pytest.raises(RingRefused, match=r"\w"):
            SyncRing(entries)
    return ring


def reap_until_idle(ring: SyncRing) -> None:
    poll = select.poll()  # not `select.select`, which takes no descriptor above 1023
    poll.register(ring.descriptor, select.POLLIN)
    while ring.in_flight_count:
        poll.poll()
        ring.reap()


def test_there_is_no_ring_if_the_kernel_refuses_it() -> None:
    with pytest.raises(RingRefused, match=r"\w"):
        SyncRing(0)
    assert open_ring(0) is None


def test_the_outcome_of_each_sync_is_reported_once(tmp_path: Path) -> None:
    ring = ring_or_reason(8)
    if ring is None:
        return
    outcomes: list[tuple[str, int]] = []

    def ended(what: str, error: OSError | None) -> None:
        outcomes.append((what, 0 if error is None else error.errno or 0))

    reading, writing = os.pipe()
    with open(tmp_path / "a", "wb") as file:
        file.write(b"x")
        file.flush()
        accepted = ring.begin(
            [
                (file.fileno(), partial(ended, "file")),
                (writing, partial(ended, "pipe")),
                (1 << 20, partial(ended, "nothing")),
            ]
        )
        reap_until_idle(ring)
    ring.close()
    os.close(reading)
    os.close(writing)
    assert accepted == 3
    assert sorted(outcomes) == [("file", 0), ("nothing", errno.EBADF), ("pipe", errno.EINVAL)]


def test_the_outcome_of_each_write_is_reported_once_and_a_short_write_is_an_error(tmp_path: Path) -> None:
    ring = ring_or_reason(8)
    if ring is None:
        return
    outcomes: list[tuple[str, int]] = []

    def ended(what: str, error: OSError | None) -> None:
        outcomes.append((what, 0 if error is None else error.errno or 0))

    buffer = AlignedBuffer()
    size_bytes = buffer.fill((b"x" * (1 << 20),))
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with open(tmp_path / "a", "wb") as file:
        for descriptor, what in ((file.fileno(), "file"), (writing, "pipe"), (1 << 20, "nothing")):
            assert ring.write(descriptor, buffer.address, size_bytes, 100, partial(ended, what))
        reap_until_idle(ring)
    ring.close()
    os.close(reading)
    os.close(writing)
    assert (tmp_path / "a").read_bytes() == bytes(100) + b"x" * size_bytes
    assert sorted(outcomes) == [("file", 0), ("nothing", errno.EBADF), ("pipe", errno.EIO)]


def test_a_write_is_refused_while_the_ring_is_full(tmp_path: Path) -> None:
    ring = ring_or_reason(2)
    if ring is None:
        return
    outcomes: list[OSError | None] = []
    buffer = AlignedBuffer()
    with open(tmp_path / "a", "wb") as file:
        for _ in range(3):
            accepted = [ring.write(file.fileno(), buffer.address, 512, 0, outcomes.append) for _ in range(3)]
            assert accepted == [True, True, False]
            reap_until_idle(ring)
    ring.close()
    assert outcomes == [None] * 6


def test_no_more_syncs_are_accepted_than_fit_and_completed_ones_make_room(tmp_path: Path) -> None:
    ring = ring_or_reason(4)
    if ring is None:
        return
    outcomes: list[int] = []
    with open(tmp_path / "a", "wb") as file:
        syncs = [(file.fileno(), lambda _, n=number: outcomes.append(n)) for number in range(10)]
        while syncs:
            accepted = ring.begin(syncs)
            assert accepted == min(4, len(syncs))
            assert ring.begin(syncs[accepted:]) == 0, "the ring is full"
            del syncs[:accepted]
            reap_until_idle(ring)
    ring.close()
    assert sorted(outcomes) == list(range(10))


def test_a_completed_sync_wakes_the_event_loop(tmp_path: Path) -> None:
    async def scenario(ring: SyncRing) -> OSError | None:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[OSError | None] = loop.create_future()
        loop.add_reader(ring.descriptor, ring.reap)
        with open(tmp_path / "a", "wb") as file:
            ring.begin([(file.fileno(), ended.set_result)])
            outcome = await ended
        loop.remove_reader(ring.descriptor)
        return outcome

    ring = ring_or_reason(8)
    if ring is None:
        return
    assert asyncio.run(scenario(ring)) is None
    ring.close()


def test_a_closed_ring_leaves_no_descriptor_behind() -> None:
    before = len(os.listdir("/proc/self/fd"))
    ring = open_ring()
    if ring is not None:
        ring.close()
    assert len(os.listdir("/proc/self/fd")) == before
