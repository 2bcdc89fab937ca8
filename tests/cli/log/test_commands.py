import fcntl
import json
from pathlib import Path

import pytest

from penstock.cli.main import run
from penstock.protocol.compression import Codec
from penstock.protocol.records.batch import HEADER_SIZE
from penstock.protocol.records.builder import BatchBuilder
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch


def batch(base_offset: int, *values: bytes, codec: Codec = Codec.NONE, producer_id: int = -1) -> bytes:
    builder = BatchBuilder(base_offset)
    for value in values:
        builder.append(b"k", value, [("h", b"1")], timestamp=1_750_000_000_000)
    sequence = 0 if producer_id >= 0 else -1
    return builder.build(
        codec=codec, producer_id=producer_id, producer_epoch=3, base_sequence=sequence, leader_epoch=7
    )


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Two partitions of one topic; the first has two segments."""
    write(tmp_path, "orders-0", 0, batch(0, b"a", b"b") + batch(2, b"c", codec=Codec.ZSTD, producer_id=9))
    write(tmp_path, "orders-0", 3, batch(3, b"d"))
    write(tmp_path, "orders-1", 0, batch(0, b"other"))
    meta = f"version=1\nnode.id=3\ncluster.id=4L6g3nShT-eMCtK--X86sw\ndirectory.id={'A' * 22}\n"
    (tmp_path / "meta.properties").write_text(meta)
    return tmp_path


def write(data_dir: Path, partition: str, base_offset: int, content: bytes) -> Path:
    (data_dir / partition).mkdir(exist_ok=True)
    (data_dir / partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {'A' * 22}\n")
    path = data_dir / partition / f"{base_offset:020d}.log"
    path.write_bytes(content)
    return path


def damage(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_dump_shows_each_batch_with_offsets_size_codec_producer_and_checksum(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "dump", str(data_dir), "--topic", "orders", "--partition", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    size = (data_dir / "orders-0/00000000000000000000.log").stat().st_size
    assert lines[0] == f"orders-0/00000000000000000000.log: {size} bytes"
    assert lines[1].startswith("  byte 0: offsets 0-1, 2 record(s), ")
    assert lines[1].endswith("codec none, leader epoch 7, newest 2025-06-15T15:06:40.000Z, CRC ok")
    assert "codec zstd" in lines[2]
    assert "producer 9 epoch 3, sequences 0-0" in lines[2]
    assert lines[3].startswith("orders-0/00000000000000000003.log: ")
    assert len(lines) == 5


def test_dump_shows_records_on_request_and_names_control_records(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker = build_end_txn_batch(
        EndTxnMarker(is_commit=False, coordinator_epoch=1),
        producer_id=4,
        producer_epoch=0,
        timestamp=1_750_000_000_000,
        base_offset=1,
    )
    write(data_dir, "orders-1", 0, batch(0, b"other", codec=Codec.GZIP) + marker)
    assert run(["log", "dump", str(data_dir / "orders-1"), "--records"]) == 0
    out = capsys.readouterr().out
    assert "    0 2025-06-15T15:06:40.000Z key k value other headers h=1\n" in out
    assert "transactional, control, CRC ok" in out
    assert "    1 abort " in out


def test_dump_as_json_gives_an_object_for_each_batch(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "dump", str(data_dir), "--json", "--records", "--partition", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    fields = json.loads(line)
    assert (fields["topic"], fields["partition"], fields["baseOffset"], fields["crcValid"]) == (
        "orders",
        1,
        0,
        True,
    )
    assert fields["records"][0]["value"] == "other"


def test_dump_goes_on_after_a_batch_with_a_wrong_checksum(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(data_dir / "orders-0/00000000000000000000.log", HEADER_SIZE + 3)
    assert run(["log", "dump", str(data_dir / "orders-0")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("CRC WRONG")
    assert lines[2].endswith("CRC ok")


def test_verify_of_an_undamaged_directory_counts_the_bytes_it_read(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "verify", str(data_dir), "--deep"]) == 0
    size = sum(path.stat().st_size for path in data_dir.glob("*/*.log"))
    assert capsys.readouterr().out == f"checked 2 partitions, 3 segments, 4 batches, {size} bytes\n"


@pytest.mark.parametrize("position", [HEADER_SIZE, HEADER_SIZE + 5, 30])
def test_verify_fails_and_names_file_byte_and_offset_of_a_flipped_bit(
    data_dir: Path, position: int, capsys: pytest.CaptureFixture[str]
) -> None:
    first = len(batch(0, b"a", b"b"))
    path = data_dir / "orders-0/00000000000000000000.log"
    damage(path, first + position)
    assert run(["log", "verify", str(data_dir)]) == 1
    captured = capsys.readouterr()
    assert f"{path}: byte {first}, offset 2: the checksum does not match\n" in captured.out
    assert captured.err.startswith(f"penstock: 1 damaged place(s), the first at byte {first} of {path}: ")
    assert captured.err.count("\n") == 1


def test_verify_finds_a_segment_that_was_cut_short(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data_dir / "orders-1/00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-1])
    assert run(["log", "verify", str(data_dir), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(each["file"], each["position"], each["offset"]) for each in found["damage"]] == [
        (str(path), 0, 0)
    ]


def test_verify_finds_segments_that_overlap(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(data_dir, "orders-0", 0, batch(0, b"a", b"b", b"c", b"d", b"e"))
    assert run(["log", "verify", str(data_dir)]) == 1
    assert (
        "00000000000000000003.log: byte 0, offset 3: the segment before it goes on to offset 4"
        in capsys.readouterr().out
    )


def test_zeros_that_a_segment_was_grown_by_are_no_damage(data_dir: Path) -> None:
    path = data_dir / "orders-1/00000000000000000000.log"
    path.write_bytes(path.read_bytes() + bytes(5000))
    assert run(["log", "verify", str(data_dir)]) == 0


def test_a_half_written_last_batch_is_no_damage_while_a_broker_runs(data_dir: Path) -> None:
    path = data_dir / "orders-1/00000000000000000000.log"
    path.write_bytes(path.read_bytes() + batch(1, b"being written")[:50])
    with (data_dir / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(["log", "verify", str(data_dir)]) == 0
    assert run(["log", "verify", str(data_dir)]) == 1


def test_deep_verify_finds_records_that_do_not_unpack_under_a_right_checksum(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from penstock.protocol.records.batch import set_max_timestamp

    content = bytearray(batch(0, b"x" * 50, codec=Codec.GZIP))
    content[HEADER_SIZE + 12] ^= 0xFF
    set_max_timestamp(content, 0, is_log_append_time=False, max_timestamp=1)  # makes the checksum right again
    write(data_dir, "orders-1", 0, bytes(content))
    assert run(["log", "verify", str(data_dir)]) == 0
    assert run(["log", "verify", str(data_dir), "--deep"]) == 1
    assert "orders-1/00000000000000000000.log: byte 0, offset 0: " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["dump", "verify", "recover"])
def test_a_directory_without_partitions_is_one_clear_line(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", command, str(tmp_path / "no")]) == 1
    assert "is not a directory: give the broker's data directory" in capsys.readouterr().err
    assert run(["log", command, str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "has no partitions" in captured.err
    assert captured.err.count("\n") == 1


def test_a_topic_that_is_not_there_is_answered_with_those_that_are(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "dump", str(data_dir), "--topic", "audit"]) == 1
    assert "has nothing of audit: it has orders-0, orders-1" in capsys.readouterr().err


def test_recover_truncates_a_partial_batch_and_reports_it(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data_dir / "orders-1/00000000000000000000.log"
    whole = path.read_bytes()
    path.write_bytes(whole + batch(1, b"unfinished")[:-1])
    assert run(["log", "recover", str(data_dir)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    truncated = captured.out.partition("\n")[0]
    assert truncated.startswith(f"Truncated {path}: ")
    assert truncated.endswith(f" offset=1 bytes={len(batch(1, b'unfinished')) - 1}")
    assert "orders-0: offsets 0 to 4\norders-1: offsets 0 to 1\nrecovered 2 partition(s)\n" in captured.out
    assert path.read_bytes() == whole
    assert run(["log", "verify", str(data_dir)]) == 0


def test_recover_of_a_recovered_directory_changes_nothing(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "recover", str(data_dir)]) == 0
    before = {path: path.read_bytes() for path in data_dir.glob("*/*.log")}
    capsys.readouterr()
    assert run(["log", "recover", str(data_dir), "--json"]) == 0
    recovery = json.loads(capsys.readouterr().out)
    assert recovery["failures"] == []
    words = ("truncat", "remov", "damage")
    assert not any(word in step.lower() for step in recovery["steps"] for word in words)
    assert [each["endOffset"] for each in recovery["partitions"]] == [4, 1]
    assert {path: path.read_bytes() for path in data_dir.glob("*/*.log")} == before


def test_recover_leaves_damage_to_durable_records_and_fails(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "recover", str(data_dir)]) == 0
    path = data_dir / "orders-0/00000000000000000003.log"
    path.write_bytes(b"")
    content = (data_dir / "orders-0/00000000000000000000.log").read_bytes()
    capsys.readouterr()
    assert run(["log", "recover", str(data_dir)]) == 1
    captured = capsys.readouterr()
    assert "damaged place(s) that recovery cannot repair" in captured.err
    assert captured.err.count("\n") == 1
    assert (data_dir / "orders-0/00000000000000000000.log").read_bytes() == content


def test_recover_refuses_a_directory_that_a_broker_holds(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (data_dir / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(["log", "recover", str(data_dir)]) == 1
    assert f"another process is using {data_dir}" in capsys.readouterr().err


def test_recover_refuses_a_part_of_a_data_directory(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "recover", str(data_dir / "orders-0")]) == 1
    assert "has no meta.properties" in capsys.readouterr().err
