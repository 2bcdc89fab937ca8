"""Rounds fill whole blocks of the disk, and the kernel writes them past the page cache where it can."""

import asyncio
import errno
import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.storage.direct import AlignedBuffer
from penstock.storage.errors import StorageFailure
from penstock.storage.files import RealFileSystem, read_whole
from penstock.storage.journal import journal_file
from penstock.storage.journal.entries import decode_header
from penstock.storage.journal.journal_file import JournalFiles
from penstock.storage.journal.reading import FoundJournal, PartitionId, find_entries
from penstock.storage.ring import Ended, SyncRing, open_ring
from penstock_simulation.disk import Keep
from tests.storage.journal.real_store import TOPIC_ID, RealStore, watch_direct_descriptors
from tests.storage.journal.store import JOURNAL, Store
from tests.storage.journal.test_journal_model import values_of


def round_positions(store: Store) -> list[int]:
    data = memoryview(read_whole(store.disk, JOURNAL))
    found = find_entries(data, decode_header(data).crc)
    assert all(begin + entry.size_bytes == after for (begin, entry), (after, _) in pairwise(found))
    return [begin for begin, entry in found if entry.index == 0]


@pytest.mark.parametrize(("block_bytes", "first"), [(512, 1024), (4096, 4096)])
def test_a_round_begins_at_a_block_and_a_torn_one_is_no_damage(
    block_bytes: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_file, "BLOCK_BYTES", block_bytes)

    async def run(seed: int) -> None:
        store = await Store.made(seed=seed, journal_bytes=1 << 20)
        for number in range(4):
            await store.write("." * 100 * number)
            await store.write(f"alone {number}", [number % 3])
        positions = round_positions(store)
        assert positions[0] == first
        assert len(positions) > 1
        assert not any(position % block_bytes for position in positions)
        store.begin_write("torn")
        await store.crash(Keep.PAGES, page_bytes=512)
        await store.check()
        await store.write("after")
        await store.crash()
        await store.check()

    for seed in range(10):
        asyncio.run(run(seed))


def test_a_flipped_bit_in_the_padding_of_a_round_loses_nothing() -> None:
    async def run() -> None:
        store = await Store.made(1)
        for value in ("second", "third"):
            await store.write(value)
        begin, end = round_positions(store)
        content = read_whole(store.disk, JOURNAL)[begin:end].rstrip(b"\0")
        assert len(content) < end - begin - 1
        for position in range(begin + len(content) + 1, end):
            store.disk.flip_bit(JOURNAL, position)
        await store.crash()
        await store.check()

    asyncio.run(run())


def test_rounds_of_an_earlier_version_which_are_not_padded_are_recovered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(journal_file, "BLOCK_BYTES", 1)
            store = await Store.made()
            for number in range(3):
                await store.write("." * (7 + number))
            assert round_positions(store)[1] % 512
        await store.crash()
        await store.check()
        await store.write("after")
        await store.crash()
        await store.check()

    asyncio.run(run())


# -- on the machine's own disk; where the kernel or the file system refuses, the same must hold with threads


def refuse_direct_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(journal_file, "open_direct", lambda _file: None)


def refuse_while_full(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SyncRing, "write", lambda *_: False)


def refuse_nothing(_patch: pytest.MonkeyPatch) -> None:
    pass


@pytest.mark.parametrize("has_ring", [True, False])
@pytest.mark.parametrize("refuse", [refuse_nothing, refuse_direct_writes, refuse_while_full])
def test_acknowledged_records_survive_a_crash_however_rounds_are_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refuse: Callable[[pytest.MonkeyPatch], None],
    has_ring: bool,
) -> None:
    """Only the journal and the first record of each segment survive."""
    written: list[list[str]] = [[], [], []]

    async def run() -> None:
        # All rounds fit into the first file: a slow machine may be late with the next one, and then syncs the segments.
        ring = open_ring() if has_ring else None
        store = RealStore(tmp_path / "running", ring, journal_bytes=128 << 20)
        for number in range(60):
            which = range(3) if number % 2 == 0 else [number % 3]
            for each in which:
                written[each].append(f"{number}-{each}" + "." * (number * 31 % 2000))
            await asyncio.gather(*(store.write(store.logs[each], written[each][-1]) for each in which))
            if number == 0:
                # Without the journal, which is extended in the background meanwhile.
                without_journal = shutil.ignore_patterns(".journal.*")
                shutil.copytree(tmp_path / "running", tmp_path / "crashed", ignore=without_journal)
        for path in (tmp_path / "running").glob(".journal.[0-9]"):
            shutil.copy(path, tmp_path / "crashed")
        await store.close()
        recovered = RealStore(tmp_path / "crashed", None)
        assert recovered.store.journal_damage == ()
        assert [await values_of(log) for log in recovered.logs] == written
        await recovered.close()

    refuse(monkeypatch)
    asyncio.run(run())


def test_a_direct_write_that_fails_takes_all_partitions_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptors = watch_direct_descriptors(monkeypatch)

    async def run() -> None:
        store = RealStore(tmp_path, open_ring())
        for log in store.logs:
            await store.write(log, "first")
        if descriptors:
            no_disk = os.open(tmp_path / "no disk", os.O_CREAT | os.O_RDONLY)
            for descriptor in descriptors:
                os.dup2(no_disk, descriptor)
            with pytest.raises(StorageFailure, match="Bad file descriptor"):
                await store.write(store.logs[0], "second")
            with pytest.raises(StorageFailure, match="Bad file descriptor"):
                await store.write(store.logs[1], "second")
            assert [log.durable_offset for log in store.logs] == [1, 1, 1]
            os.close(no_disk)
        await store.close()

    asyncio.run(run())


def test_a_round_without_memory_for_its_buffer_fails_and_its_waiters_are_notified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none(*_: object) -> int:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    descriptors = watch_direct_descriptors(monkeypatch)

    async def run() -> None:
        store = RealStore(tmp_path, open_ring())
        for log in store.logs:
            await store.write(log, "first")
        if descriptors:
            monkeypatch.setattr(AlignedBuffer, "fill", find_none)
            with pytest.raises(StorageFailure, match="Cannot allocate memory"):
                await store.write(store.logs[0], "second")
        await store.close()

    asyncio.run(run())


def test_a_file_that_cannot_be_made_leaves_no_descriptor_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    files = JournalFiles(
        RealFileSystem(), str(tmp_path), FoundJournal(), lambda: bytes(16), bytes(16), is_direct=True
    )
    monkeypatch.setattr(RealFileSystem, "rename", refuse)
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError, match="Input/output error"):
        files.make(8192, is_needed=True)
    assert len(os.listdir("/dev/fd")) == before


def test_a_round_that_lengthens_its_file_is_synced_with_the_size_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[int] = []
    write = SyncRing.write

    def watch(ring: SyncRing, fd: int, address: int, size_bytes: int, position: int, ended: Ended) -> bool:
        ends.append(position + size_bytes)
        return write(ring, fd, address, size_bytes, position, ended)

    async def run() -> None:
        store = RealStore(tmp_path, open_ring())
        size_bytes = os.path.getsize(tmp_path / ".journal.0")
        store.journal._resets = [PartitionId(TOPIC_ID, number) for number in range(size_bytes // 64)]
        assert await store.journal.written()
        assert os.path.getsize(tmp_path / ".journal.0") > size_bytes
        assert all(end <= size_bytes for end in ends)
        await store.close()

    monkeypatch.setattr(SyncRing, "write", watch)
    asyncio.run(run())
