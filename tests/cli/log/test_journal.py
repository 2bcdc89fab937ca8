"""`penstock log dump|verify|recover` on a data directory with a journal, after a crash."""

import asyncio
import json
import shutil
from pathlib import Path
from random import Random

import pytest

from penstock.cli.main import run
from penstock.protocol.records.batch import iter_batches
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload
from penstock.storage.directory.metadata_files import encode_uuid
from penstock.storage.files import RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.journal import journal_file
from penstock.storage.journal.entries import ENTRY_BYTES, HEADER_BYTES
from penstock.storage.store.log_store import LogStore
from tests.storage.logs import NOW_MS, append, config_of

TOPIC_ID = Random(1).randbytes(16)
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
SEGMENT = f"{0:020d}.log"


def open_store(directory: Path) -> LogStore:
    return LogStore.open(
        str(directory),
        files=RealFileSystem(),
        node_id=3,
        new_cluster_id=lambda: CLUSTER_ID,
        new_directory_id=lambda: Random(2).randbytes(16),
        clock=ManualClock(NOW_MS),
        journal_bytes=1 << 16,
    )


async def write_and_crash(running: Path, crashed: Path) -> None:
    """Two partitions with four records each, of which the last three are in the journal."""
    store = open_store(running)
    flusher = Flusher(InlineOffload(), ManualClock(), journal=store.journal)
    for number in range(4):
        for partition in (0, 1):
            log = store.open_or_create("orders", TOPIC_ID, partition, config_of())
            append(log, f"value {partition}-{number}.")
            await flusher.sync(log)
    shutil.copytree(running, crashed)
    await store.close(flusher)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    asyncio.run(write_and_crash(tmp_path / "running", tmp_path / "crashed"))
    return tmp_path / "crashed"


def lose_records(data_dir: Path, partition: int = 0, kept: int = 1) -> None:
    """Cut a segment as a power cut does, which leaves what was synced."""
    path = data_dir / f"orders-{partition}" / SEGMENT
    content = path.read_bytes().rstrip(b"\0")
    path.write_bytes(content[: [position for position, _ in iter_batches(content)][kept]])


def records(data_dir: Path) -> bytes:
    """Those of the first partition, without the room behind them."""
    return (data_dir / "orders-0" / SEGMENT).read_bytes().rstrip(b"\0")


def rot(data_dir: Path, value: bytes) -> int:
    path = data_dir / ".journal.0"
    content = bytearray(path.read_bytes())
    position = content.index(value)
    content[position] ^= 1
    path.write_bytes(content)
    return position


def test_dump_of_a_journal_file_shows_each_entry(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(data_dir / ".journal.0"), "--records"]) == 0
    lines = capsys.readouterr().out.splitlines()
    size = (data_dir / ".journal.0").stat().st_size
    assert lines[0] == f".journal.0: {size} bytes, file number 1"
    assert lines[1].startswith(
        f"  byte {HEADER_BYTES}: round 1, start, file 1 is the oldest, {ENTRY_BYTES} bytes"
    )
    appends = [line for line in lines if ", append, " in line]
    assert len(appends) == 6
    assert ", append, orders-0, leader epoch 0, offsets 1-1, " in appends[0]
    assert all(line.endswith("CRC ok") for line in appends)
    assert any(line.endswith("value value 1-3.") for line in lines)


def test_dump_of_a_journal_file_shows_no_gap_before_a_first_block_that_is_larger_than_the_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_file, "BLOCK_BYTES", 4096)
    asyncio.run(write_and_crash(tmp_path / "running", tmp_path / "crashed"))
    assert run(["log", "dump", str(tmp_path / "crashed" / ".journal.0")]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("  byte 4096: round 1, start, ")


def test_dump_of_a_journal_file_can_be_limited_to_a_partition(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--json", "--topic", "orders", "--partition", "1"]
    assert run(["log", "dump", str(data_dir / ".journal.0"), *arguments]) == 0
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["partition"], each["baseOffset"], each["endOffset"]) for each in entries] == [
        ("orders-1", offset, offset + 1) for offset in (1, 2, 3)
    ]


def test_dump_of_a_journal_file_shows_an_entry_with_a_wrong_checksum_and_those_after_it(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rot(data_dir, b"value 0-2.")
    assert run(["log", "dump", str(data_dir / ".journal.0")]) == 0
    appends = [line for line in capsys.readouterr().out.splitlines() if ", append, " in line]
    wrong = [line for line in appends if line.endswith("CRC WRONG")]
    assert len(appends) == 6
    assert [", append, orders-0, leader epoch 0, offsets 2-2, " in line for line in wrong] == [True]


def test_dump_of_another_file_is_refused(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(data_dir / "orders-0" / SEGMENT)]) == 1
    assert "is not a journal file: " in capsys.readouterr().err


def test_verify_names_the_records_that_only_the_journal_has(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "verify", str(data_dir)]) == 0
    assert "the journal holds" not in capsys.readouterr().out
    lose_records(data_dir)
    assert run(["log", "verify", str(data_dir)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("the journal holds offsets 1-3 of orders-0 beyond the segments: the next start, ")
    assert run(["log", "verify", str(data_dir), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inJournal"] == [{"partition": "orders-0", "baseOffset": 1, "endOffset": 4}]


def test_verify_fails_when_the_journal_is_damaged(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rot(data_dir, b"value 0-2.")
    assert run(["log", "verify", str(data_dir)]) == 1
    assert f"{data_dir}/.journal.0: byte " in capsys.readouterr().out


def test_verify_names_records_that_neither_segments_nor_journal_have(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rot(data_dir, b"value 0-2.")
    lose_records(data_dir)
    assert run(["log", "verify", str(data_dir)]) == 1
    said = capsys.readouterr().out
    assert "the journal holds offsets 1-1 of orders-0 beyond the segments" in said
    assert "the journal holds offsets 3-3 of orders-0 beyond the segments" in said
    assert "offset 2: offsets up to 2 are missing, in the journal too" in said


def test_recover_replays_the_journal(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = records(data_dir)
    lose_records(data_dir)
    assert run(["log", "recover", str(data_dir)]) == 0
    said = capsys.readouterr().out
    assert "the journal holds offsets 1-3 of orders-0 beyond the segments: replaying them\n" in said
    assert "orders-0: offsets 0 to 4\norders-1: offsets 0 to 4\n" in said
    assert records(data_dir) == whole
    assert run(["log", "verify", str(data_dir)]) == 0
    assert "the journal holds" not in capsys.readouterr().out
    assert run(["log", "recover", str(data_dir)]) == 0
    assert records(data_dir) == whole


def test_recover_fails_when_the_journal_is_damaged_and_replays_the_rest(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rot(data_dir, b"value 0-2.")
    lose_records(data_dir, 0)
    lose_records(data_dir, 1)
    assert run(["log", "recover", str(data_dir)]) == 1
    captured = capsys.readouterr()
    assert "orders-0: offsets 0 to 4\norders-1: offsets 0 to 4\n" in captured.out
    assert ".journal.0 is damaged at byte" in captured.err


@pytest.mark.parametrize("content", [None, b"version: 0\ntopic_id: ~\n"])
def test_recover_leaves_a_partition_whose_topic_is_not_known_to_the_broker(
    data_dir: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    metadata = data_dir / "orders-0" / "partition.metadata"
    metadata.unlink()
    if content is not None:
        metadata.write_bytes(content)
    whole = records(data_dir)
    lose_records(data_dir)
    assert run(["log", "recover", str(data_dir)]) == 1
    assert "orders-0: partition.metadata is missing or damaged" in capsys.readouterr().err
    store = open_store(data_dir)
    log = store.open_or_create("orders", TOPIC_ID, 0, config_of())
    assert log.log_end_offset == 4
    asyncio.run(store.close())
    assert records(data_dir) == whole


def test_recover_leaves_the_evidence_of_lost_records_to_the_broker(data_dir: Path) -> None:
    rot(data_dir, b"value 0-2.")
    lose_records(data_dir)
    for _ in range(2):
        assert run(["log", "recover", str(data_dir)]) == 1
        assert not (data_dir / ".kafka_cleanshutdown").exists()
    assert open_store(data_dir).has_lost_records


def test_recover_names_the_journal_entries_of_a_partition_without_a_directory(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(data_dir / "orders-1")
    assert run(["log", "recover", str(data_dir)]) == 0
    said = capsys.readouterr().out
    assert (
        f"dropped journal entries of partition 1 of topic id {encode_uuid(TOPIC_ID)}, which is not here\n"
        in said
    )
