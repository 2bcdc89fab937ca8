"""Share groups (KIP-932): members share the records of a partition, and acknowledge each by itself."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import AcknowledgeType

from tests.interop.groups import SHARE, Members
from tests.interop.share_stage import SETTINGS, Delivery, ShareStage, numbered, until
from tests.support.broker import BrokerProcess
from tests.support.plugin import require_java_client, running_broker

JAVA_PROGRAM = Path(__file__).parent / "java" / "ShareClient.java"
RELEASE, REJECT = AcknowledgeType.RELEASE, AcknowledgeType.REJECT

# An offset, and how often its record has been delivered: 7x2.
JAVA_EXPECTED = {
    "accept, release, reject": "0x1 1x1 2x1 3x1 4x1 5x1 [ok]",
    "what was released": "1x2 4x2 [ok]",
    "what was renewed": "1x2 4x2 [ok]",
    "acknowledge twice": "IllegalStateException",
    "poll without acknowledging": "IllegalStateException [ok]",
    "a lock that ran out": "8x2 late [InvalidRecordStateException] [ok]",
    "accept by polling": "9x1 10x1 11x1 12x1 13x1 told [9, 10, 11, 12, 13]",
    "no more than asked for": "14x1 15x1 16x1 [ok], 17x1 18x1 19x1 [ok]",
    "left by closing": "20x2 [ok]",
    "list": "[java-share Optional[Share] Empty share]",
    "read on": "21x1 22x1 [ok]",
    "describe": "Stable 1 [shared-by-java-0] 22",
    "alter offsets under a member": "GroupNotEmptyException",
    "delete offsets under a member": "GroupNotEmptyException",
    "delete under a member": "GroupNotEmptyException",
    "join as a consumer": "GroupIdNotFoundException",
    "offsets": "[shared-by-java-0 from 21 lag 0]",
    "alter offsets": "[shared-by-java-0 from 20 lag 3]",
    "alter offsets of nothing": "UnknownTopicOrPartitionException",
    "read from there": "20x1 21x1 22x1 [ok]",
    "records deleted under it": "22x2 [ok]",
    "delete offsets": "[]",
    "start again": "22x1 [ok]",
    "delete": "null",
    "describe when deleted": "GroupIdNotFoundException",
    "delete again": "GroupIdNotFoundException",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("share"), SETTINGS) as broker:
        yield broker


@pytest.fixture
def stage(broker: BrokerProcess) -> Iterator[ShareStage]:
    made = ShareStage(broker.bootstrap)
    yield made
    made.close()


def test_members_share_the_records_of_one_partition(stage: ShareStage) -> None:
    stage.produce(numbered(30), batch=10)
    members = [stage.join(max_poll_records=10) for _ in range(3)]

    held = sorted(member.hold() for member in members)

    assert held == [[(offset, 1) for offset in range(first, first + 10)] for first in (0, 10, 20)]


def test_released_records_are_redelivered_and_accepted_or_rejected_ones_are_not(stage: ShareStage) -> None:
    stage.produce(numbered(6))
    member = stage.join()
    member.hold()
    assert member.decide(0, 3) == set()
    assert member.decide(1, 4, how=REJECT) == set()
    assert member.decide(2, 5, how=RELEASE) == set()

    assert stage.join().take(2) == [(2, 2), (5, 2)]
    stage.produce(numbered(1))
    assert member.take(1) == [(6, 1)]


def test_part_of_a_batch_is_acknowledged_and_a_leaving_member_releases_the_rest(
    stage: ShareStage,
) -> None:
    stage.produce(numbered(8))
    member = stage.join()
    member.hold()
    assert member.decide(1, 2, 5) == set()

    stage.leave(member)

    assert stage.join().take(5) == [(offset, 2) for offset in (0, 3, 4, 6, 7)]


def test_a_record_whose_lock_expires_is_delivered_to_another_member(stage: ShareStage) -> None:
    stage.configure(share_record_lock_duration_ms="1000")
    stage.produce(numbered(1))
    late = stage.join()
    late.hold()
    stage.configure(share_record_lock_duration_ms="30000")  # for the next member
    other = stage.join()

    assert other.hold() == [(0, 2)]
    assert late.decide() == {"INVALID_RECORD_STATE"}
    assert other.decide() == set()


def test_a_record_is_archived_after_its_last_delivery(stage: ShareStage) -> None:
    stage.configure(share_delivery_count_limit="2")
    stage.produce(numbered(1))
    member = stage.join()
    assert member.take(2, how=RELEASE) == [(0, 1), (0, 2)]

    stage.produce(numbered(1))

    assert member.take(1) == [(1, 1)]


def test_the_records_of_a_killed_member_are_redelivered(broker: BrokerProcess, stage: ShareStage) -> None:
    stage.produce(numbered(3))
    members = Members()
    try:
        holder = members.start(
            SHARE, bootstrap=broker.bootstrap, topic=stage.topic, group=stage.group, is_holding=True
        )
        members.until(lambda: len(holder.held) == 3, "three records held")
        holder.kill()
        assert stage.join().take(3) == [(0, 2), (1, 2), (2, 2)]
    finally:
        members.end()


def test_a_group_starts_at_the_end_by_default(stage: ShareStage) -> None:
    stage.produce(["old"])
    member = stage.join(group=f"another-{stage.group}")
    held: list[Delivery] = []
    while not held:
        stage.produce(["new"])
        held = member.glance()

    assert held[0][0] > 0


@pytest.mark.parametrize(
    ("isolation", "offsets"), [("read_committed", [0, 4]), ("read_uncommitted", [0, 2, 4])]
)
def test_aborted_records_are_skipped_with_read_committed_isolation(
    stage: ShareStage, isolation: str, offsets: list[int]
) -> None:
    """Transaction markers have offsets, too, and are never delivered."""
    stage.transact({"first": True, "aborted": False, "last": True})
    stage.configure(share_isolation_level=isolation)

    assert stage.join().take(len(offsets)) == [(offset, 1) for offset in offsets]


def test_a_topic_and_partitions_created_later_are_read_too(broker: BrokerProcess) -> None:
    stage = ShareStage(broker.bootstrap, partitions=0)
    member = stage.join(topic_metadata_refresh_interval_ms=200)
    assert member.glance() == []
    stage.create()
    stage.produce(numbered(2))
    assert member.take(2) == [(0, 1), (1, 1)]

    stage.grow(2)
    stage.produce(numbered(1), partition=1)
    assert member.take(1) == [(0, 1)]
    stage.close()


def test_records_removed_by_compaction_are_skipped(broker: BrokerProcess) -> None:
    stage = ShareStage(
        broker.bootstrap, cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_ms="1"
    )
    now_ms = int(time.time() * 1000)
    for number in range(3):
        stage.produce(numbered(3), timestamp_ms=now_ms + 10 * number)  # each in a segment of its own
    until(lambda: len(stage.readable_offsets()) < 9, "compacted")
    left = stage.readable_offsets()

    assert stage.join().take(len(left)) == [(offset, 1) for offset in left]
    stage.close()


@pytest.mark.timeout(120)
def test_the_reference_client_gets_the_same_results_as_with_kafka(broker: BrokerProcess) -> None:
    command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", require_java_client()]
    done = subprocess.run(
        [*command, str(JAVA_PROGRAM), broker.bootstrap],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    found = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    assert found == JAVA_EXPECTED, done.stderr[-3000:]
