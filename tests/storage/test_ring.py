"""Where the kernel refuses io_uring, these tests check what is promised then: there is no ring, and a reason."""

import asyncio
import errno
import os
import select
from functools import partial
from pathlib import Path

import pytest

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


def test_a_ring_that_the_kernel_refuses_is_none() -> None:
    with pytest.raises(RingRefused, match=r"\w"):
        SyncRing(0)
    assert open_ring(0) is None


def test_each_sync_is_told_once_how_it_ended(tmp_path: Path) -> None:
    ring = ring_or_reason(8)
    if ring is None:
        return
    told: list[tuple[str, int]] = []

    def ended(what: str, error: OSError | None) -> None:
        told.append((what, 0 if error is None else error.errno or 0))

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
    assert sorted(told) == [("file", 0), ("nothing", errno.EBADF), ("pipe", errno.EINVAL)]


def test_no_more_syncs_are_taken_than_there_is_room_for_and_room_returns(tmp_path: Path) -> None:
    ring = ring_or_reason(4)
    if ring is None:
        return
    told: list[int] = []
    with open(tmp_path / "a", "wb") as file:
        syncs = [(file.fileno(), lambda _, n=number: told.append(n)) for number in range(10)]
        while syncs:
            accepted = ring.begin(syncs)
            assert accepted == min(4, len(syncs))
            assert ring.begin(syncs[accepted:]) == 0, "the ring is full"
            del syncs[:accepted]
            reap_until_idle(ring)
    ring.close()
    assert sorted(told) == list(range(10))


def test_an_event_loop_is_woken_when_a_sync_has_ended(tmp_path: Path) -> None:
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
