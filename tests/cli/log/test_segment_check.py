"""`penstock log verify` finds a flipped bit in any byte of a batch header, in any segment, while a broker runs."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.cli.data_directory import find_partitions
from penstock.cli.log.segment_check import PartitionCheck
from penstock.cli.main import run
from penstock.protocol.records.batch import HEADER_SIZE, iter_batches
from penstock.protocol.records.builder import BatchBuilder
from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker

BATCHES = 8  # in each of two segments
RECORDS = 3
EPOCH = 7
BASE_OFFSET = range(8)
LEADER_EPOCH = range(12, 16)
PREALLOCATED = bytes(4096)


def batch(number: int) -> bytes:
    builder = BatchBuilder(number * RECORDS)
    for value in range(RECORDS):
        builder.append(b"k", b"%d-%d" % (number, value), timestamp=1_750_000_000_000)
    return builder.build(producer_id=-1, producer_epoch=-1, base_sequence=-1, leader_epoch=EPOCH)


class Directory:
    """A partition with a sealed segment and an active one, as a broker that runs has it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partition = path / "orders-0"
        self.partition.mkdir()
        self.sealed = self._write(0, b"")
        self.active = self._write(BATCHES, PREALLOCATED)

    def _write(self, first: int, behind: bytes) -> Path:
        path = self.partition / f"{first * RECORDS:020d}.log"
        path.write_bytes(b"".join(batch(first + number) for number in range(BATCHES)) + behind)
        return path

    def checkpoint(self) -> None:
        """Write down what a broker does once a minute."""
        end_offset = 2 * BATCHES * RECORDS
        (self.path / "recovery-point-offset-checkpoint").write_text(f"0\n1\norders 0 {end_offset}\n")
        (self.partition / "leader-epoch-checkpoint").write_text(f"0\n1\n{EPOCH} 0\n")

    def flip(self, segment: Path, position: int, bits: int) -> None:
        content = bytearray(segment.read_bytes())
        content[position] ^= bits
        segment.write_bytes(content)

    def check(self) -> PartitionCheck:
        (partition,) = find_partitions(str(self.path))
        return PartitionCheck(partition, is_being_written=True, is_deep=False, pause=lambda _s: None)


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


def places(check: PartitionCheck) -> list[tuple[str, int, int]]:
    return [(each.file, each.position, each.offset) for each in check]


@pytest.mark.parametrize("is_checkpointed", [True, False], ids=["checkpointed", "not checkpointed"])
@pytest.mark.parametrize("bits", [0x01, 0x08, 0x80])
@pytest.mark.parametrize("number", [0, 4, BATCHES - 1], ids=["first", "middle", "last"])
@pytest.mark.parametrize("which", ["sealed", "active"])
def test_each_byte_of_a_header_that_flips_is_found_and_the_rest_is_read(
    directory: Directory, which: str, number: int, bits: int, is_checkpointed: bool
) -> None:
    if is_checkpointed:
        directory.checkpoint()
    segment = directory.sealed if which == "sealed" else directory.active
    index = number if which == "sealed" else BATCHES + number
    position = sum(len(batch(index - back)) for back in range(1, number + 1))
    missed = []
    for byte in range(HEADER_SIZE):
        directory.flip(segment, position + byte, bits)
        check = directory.check()
        found = places(check)[:1]
        is_found = found == [(str(segment), position, index * RECORDS)]
        if byte in BASE_OFFSET:  # of two batches that contradict each other, either may be the bad one
            before = position - len(batch(index - 1)), (index - 1) * RECORDS
            is_found = is_found or found == [(str(segment), *before)]
        # Of a wrong epoch, too: both are left out then.
        if not is_found or check.batch_count < 2 * BATCHES - (2 if byte in LEADER_EPOCH else 1):
            missed.append(byte)
        directory.flip(segment, position + byte, bits)
    assert missed == ([] if is_checkpointed else _unknowable(which, number, bits))
    assert list(directory.check()) == []


def _unknowable(which: str, number: int, bits: int) -> list[int]:
    """Leader epochs that nothing contradicts: above the recovery point, only the batches around tell."""
    is_first, is_last = (which, number) == ("sealed", 0), (which, number) == ("active", BATCHES - 1)
    lower = [byte for byte in LEADER_EPOCH if byte == 15 and EPOCH & bits]
    if is_first:
        return lower
    if is_last:
        return [byte for byte in LEADER_EPOCH if byte not in lower and (byte, bits) != (12, 0x80)]
    return []


def test_each_byte_of_the_last_batch_that_flips_is_found_though_it_was_never_checkpointed(
    directory: Directory,
) -> None:
    size_bytes = len(batch(2 * BATCHES - 1))
    begin = len(directory.active.read_bytes()) - len(PREALLOCATED) - size_bytes
    missed = []
    for byte in range(HEADER_SIZE, size_bytes):
        directory.flip(directory.active, begin + byte, 0x10)
        if [each.position for each in directory.check()] != [begin]:
            missed.append(byte)
        directory.flip(directory.active, begin + byte, 0x10)
    assert missed == []


@pytest.mark.parametrize("behind", [b"", PREALLOCATED])
def test_a_batch_that_is_written_up_to_any_byte_is_no_damage(directory: Directory, behind: bytes) -> None:
    whole = directory.active.read_bytes()[: -len(PREALLOCATED)]
    next_batch = batch(2 * BATCHES)
    found = []
    for size_bytes in range(0, len(next_batch) - 16, 7):
        directory.active.write_bytes(whole + next_batch[:size_bytes] + behind)
        found += list(directory.check())
    assert found == []


def test_damage_that_a_second_check_does_not_find_is_not_reported(directory: Directory) -> None:
    whole = directory.active.read_bytes()
    directory.flip(directory.active, 16, 0x01)
    (partition,) = find_partitions(str(directory.path))

    def finish_writing(_seconds: float) -> None:
        directory.active.write_bytes(whole)

    check = PartitionCheck(partition, is_being_written=True, is_deep=False, pause=finish_writing)
    assert list(check) == []
    assert check.batch_count == 2 * BATCHES


def test_a_tail_that_was_durable_is_damage_even_if_it_looks_unfinished(directory: Directory) -> None:
    directory.checkpoint()
    content = directory.active.read_bytes()
    begin = len(content) - len(PREALLOCATED) - len(batch(2 * BATCHES - 1))
    directory.active.write_bytes(content[: begin + 30] + bytes(len(content) - begin - 30))
    assert [each.position for each in directory.check()] == [begin]
    directory.active.write_bytes(content[:begin] + bytes(len(content) - begin))
    assert [each.reason for each in directory.check()] == ["zeros where a batch was"]


def test_several_damaged_batches_of_a_segment_are_all_named(directory: Directory) -> None:
    sizes = [len(batch(BATCHES + number)) for number in range(BATCHES)]
    for number in (1, 3, 6):
        directory.flip(directory.active, sum(sizes[:number]) + 11, 0x01)
    assert [each.offset for each in directory.check()] == [(BATCHES + n) * RECORDS for n in (1, 3, 6)]


def test_gaps_that_compaction_left_are_no_damage(directory: Directory) -> None:
    directory.active.write_bytes(batch(BATCHES) + batch(BATCHES + 2) + batch(BATCHES + 5))
    assert list(directory.check()) == []


# -- on a broker that runs ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("verified"), {}) as broker:
        yield broker


def produce(broker: BrokerProcess, topic: str, count: int) -> Path:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "acks": "all"})
    for number in range(count):
        producer.produce(topic, b"value-%d" % number, partition=0)
        assert producer.flush(30) == 0
    return broker.data_dir / f"{topic}-0" / f"{0:020d}.log"


@pytest.mark.parametrize("byte", [4, 11, 16])
@pytest.mark.parametrize("number", [3, 9], ids=["middle", "last"])
def test_verify_of_a_running_broker_finds_a_flip_in_its_active_segment(
    broker: BrokerProcess, number: int, byte: int, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = f"flipped-{number}-{byte}"
    segment = produce(broker, topic, 10)
    content = segment.read_bytes()
    position = next(itertools.islice(iter_batches(content), number, None))[0]
    assert run(["log", "verify", str(broker.data_dir), "--topic", topic]) == 0
    with segment.open("r+b") as file:
        file.seek(position + byte)
        file.write(bytes([content[position + byte] ^ 0x01]))
    capsys.readouterr()
    assert run(["log", "verify", str(broker.data_dir), "--topic", topic]) == 1
    out = capsys.readouterr().out
    assert f"{segment}: byte {position}, offset {number}: " in out
    assert "checked 1 partitions, 1 segments, 9 batches, " in out


def test_verify_finds_nothing_while_a_producer_writes(broker: BrokerProcess) -> None:
    produce(broker, "busy", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    for _ in range(10):
        for number in range(200):
            producer.produce("busy", b"%d" % number * 500, partition=0)
        producer.poll(0)
        assert run(["log", "verify", str(broker.data_dir), "--topic", "busy"]) == 0
    assert producer.flush(30) == 0
