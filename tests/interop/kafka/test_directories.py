"""One data directory that Kafka writes, Penstock extends, Kafka extends, and Penstock reads."""

import contextlib
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import confluent_kafka
import pytest

from tests.interop.kafka.content import Contents, Writer, assert_same, read
from tests.support.broker import BrokerFailed, BrokerProcess
from tests.support.kafka_node import KafkaNode
from tests.support.plugin import require_kafka

_FIRST_WITH_SHARE_GROUPS: Final = "4.2"
_POSITIONS: Final = re.compile(r" (position|size): \d+")


class Handover:
    """A Kafka node and a Penstock broker on one directory, with the same properties file, one at a time."""

    def __init__(self, directory: Path, release: str, *, has_static_voters: bool) -> None:
        self.kafka = KafkaNode(directory, require_kafka(release), has_static_voters=has_static_voters)
        self.penstock = BrokerProcess(
            directory, config=self.kafka.config_path, port=self.kafka.port, host="localhost"
        )
        self._has_share_groups = release >= _FIRST_WITH_SHARE_GROUPS
        self.writer = Writer(self.kafka.bootstrap, has_share_groups=self._has_share_groups)
        self._has_default_min_isr = not release.startswith("4.1")  # 4.1 cannot restart with a changed one

    def write(self) -> Contents:
        self.writer.write(changes_min_isr=self._has_default_min_isr)
        return self.read()

    def extend(self, step: int) -> Contents:
        self.writer.extend(step)
        return self.read()

    def produce(self) -> None:
        self.writer.produce("journaled", "none", 0, 10)

    def read(self, *, has_share_groups: bool = True) -> Contents:
        return read(self.kafka.bootstrap, has_share_groups=self._has_share_groups and has_share_groups)

    def dump(self) -> dict[str, str]:
        """What Kafka's DumpLogSegments says about each segment, without the places of batches in their files."""
        segments = sorted(self.kafka.data_dir.glob("*-*/*.log"))
        text = self.kafka.dump_segments(
            [each for each in segments if not each.parent.name.endswith("-delete")]
        )
        return {name: _POSITIONS.sub("", part) for name, part in text.items()}

    def stop_kafka(self, *, is_crash: bool) -> None:
        self.kafka.kill() if is_crash else self.kafka.terminate()

    def stop_penstock(self, *, is_crash: bool) -> None:
        if is_crash:
            self.penstock.kill()
            self.penstock.run_command("log", "recover", str(self.kafka.data_dir))
        else:
            self.penstock.terminate()

    def end(self) -> None:
        self.writer.close()
        if self.kafka.is_running:
            self.kafka.kill()
        if self.penstock.is_running:
            self.penstock.kill()


@pytest.fixture
def handover(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Handover]:
    release, quorum = request.param
    made = Handover(tmp_path, release, has_static_voters=quorum == "static voters")
    yield made
    made.end()


@pytest.mark.parametrize(
    ("handover", "kafka_stop", "penstock_stop"),
    [
        (("4.3.1", "dynamic voters"), "SIGTERM", "SIGTERM"),
        (("4.3.1", "dynamic voters"), "SIGKILL", "SIGTERM"),
        (("4.3.1", "dynamic voters"), "SIGTERM", "SIGKILL"),
        (("4.3.1", "dynamic voters"), "SIGKILL", "SIGKILL"),
        (("4.3.1", "static voters"), "SIGTERM", "SIGTERM"),
        (("4.3.1", "static voters"), "SIGKILL", "SIGKILL"),
        (("4.2.0", "dynamic voters"), "SIGTERM", "SIGKILL"),
        (("4.1.1", "dynamic voters"), "SIGKILL", "SIGTERM"),
        (("4.0.1", "dynamic voters"), "SIGTERM", "SIGTERM"),
        (("4.0.1", "static voters"), "SIGKILL", "SIGKILL"),
    ],
    indirect=["handover"],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else value,
)
def test_a_directory_goes_from_kafka_to_penstock_to_kafka_to_penstock(
    handover: Handover, kafka_stop: str, penstock_stop: str
) -> None:
    kafka_crashes, penstock_crashes = kafka_stop == "SIGKILL", penstock_stop == "SIGKILL"
    handover.kafka.format()
    handover.kafka.start()
    of_kafka = handover.write()
    handover.stop_kafka(is_crash=kafka_crashes)

    handover.penstock.start()
    assert_same(of_kafka, handover.read(), lost_starts=kafka_crashes)
    of_penstock = handover.extend(1)
    handover.stop_penstock(is_crash=penstock_crashes)

    handover.kafka.start()
    assert_same(of_penstock, handover.read())
    again_of_kafka = handover.extend(2)
    handover.stop_kafka(is_crash=kafka_crashes)

    handover.penstock.start()
    assert_same(again_of_kafka, handover.read(), lost_starts=kafka_crashes)


@pytest.mark.parametrize("handover", [("4.3.1", "dynamic voters")], indirect=True)
def test_kafkas_own_tools_find_penstocks_directory_in_order(handover: Handover) -> None:
    handover.kafka.format()
    handover.kafka.start()
    of_kafka = handover.write()
    handover.kafka.terminate()
    handover.penstock.start()
    contents = handover.extend(1)
    handover.penstock.terminate()

    dumped = handover.dump()
    assert not [name for name, text in dumped.items() if "isvalid: false" in text or "Found" in text]
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        assert any(f"compresscodec: {codec}" in text for text in dumped.values()), codec
    began = len(handover.kafka.log_tail(10**9))
    handover.kafka.start()
    log = handover.kafka.log_tail(10**9)[began:]
    assert "DUPLICATE_BROKER_REGISTRATION" not in log
    assert "Could not find offset index file" not in log
    recovered = re.findall(r"Recovering unflushed segment .* for (\S+)\.$", log, re.MULTILINE)
    assert set(recovered) <= {"__cluster_metadata-0"}, "Kafka always recovers that one"
    for name, partition in contents.partitions.items():
        topic, _, number = name.rpartition("-")
        consumed = handover.kafka.consume(topic, int(number), len(partition.records))
        assert consumed == len(partition.records), name
    assert of_kafka.partitions.keys() < contents.partitions.keys()


@pytest.mark.parametrize("handover", [("4.3.1", "dynamic voters")], indirect=True)
def test_a_journal_is_refused_after_kafka_ran_on_a_directory_that_was_not_recovered(
    handover: Handover,
) -> None:
    handover.kafka.format()
    handover.kafka.start()
    handover.kafka.terminate()
    handover.penstock.start()
    handover.produce()
    handover.penstock.kill()
    handover.kafka.start()
    handover.kafka.kill()
    with pytest.raises(BrokerFailed, match=r"Kafka ran on it before `penstock log recover`"):
        handover.penstock.start()
    for journal in handover.kafka.data_dir.glob(".journal.*"):
        journal.unlink()
    handover.penstock.start()


@pytest.mark.parametrize("handover", [("4.3.1", "dynamic voters")], indirect=True)
def test_kills_during_the_first_starts_on_kafkas_directory_lose_nothing(handover: Handover) -> None:
    handover.kafka.format()
    handover.kafka.start()
    contents = handover.write()
    handover.kafka.kill()
    delays = random.Random(7)
    for _ in range(6):
        handover.penstock.launch()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends by itself only if it cannot start
            handover.penstock.wait(delays.uniform(0.2, 1.5))
            pytest.fail(handover.penstock.log_tail())
        handover.penstock.kill()
    handover.penstock.run_command("log", "recover", str(handover.kafka.data_dir))
    handover.kafka.start()
    assert_same(contents, handover.read(), lost_starts=True)
    handover.kafka.terminate()
    handover.penstock.start()
    assert_same(contents, handover.read(), lost_starts=True)


@pytest.mark.parametrize("handover", [("4.3.1", "dynamic voters")], indirect=True)
def test_clients_that_stay_connected_go_on_in_their_transaction_and_their_sequence(
    handover: Handover,
) -> None:
    handover.kafka.format()
    handover.kafka.start()
    writer = handover.writer
    steady = confluent_kafka.Producer(
        {"bootstrap.servers": handover.kafka.bootstrap, "enable.idempotence": True}
    )
    expected = 0

    def produce() -> None:
        nonlocal expected
        for _ in range(10):
            steady.produce("steady", value=b"%d" % expected)
            expected += 1
        assert steady.flush(60) == 0

    writer.create_topics()
    produce()
    writer.keep_transaction_open()
    handover.kafka.terminate()
    handover.penstock.start()
    produce()
    writer.commit_open_transaction()
    writer.keep_transaction_open()
    handover.penstock.terminate()
    handover.kafka.start()
    produce()
    writer.commit_open_transaction()
    writer.keep_transaction_open()
    handover.kafka.kill()
    handover.penstock.start()
    produce()
    writer.commit_open_transaction()

    contents = handover.read(has_share_groups=False)
    assert [each.value for each in contents.partitions["steady-0"].records] == [
        b"%d" % n for n in range(expected)
    ]
    for number in (0, 1):
        partition = contents.partitions[f"transactions-{number}"]
        assert partition.committed_offsets == tuple(each.offset for each in partition.records)
        assert len(partition.records) == 9
    assert contents.transactions["open"][0] == "CompleteCommit"
    assert contents.group_offsets["transactional-group"] == {"codec-gzip-1": (3, None)}
