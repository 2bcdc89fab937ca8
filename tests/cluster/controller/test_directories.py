import pytest
from msgspec.structs import replace

from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.directories import DirectoryAssignment, decide_directories
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import DIRECTORY_LOST, Partition
from penstock.protocol.errors import ErrorCode
from tests.cluster.support import CONFIG, commit, disk_of, image_of, with_topic

OTHER_DISK = bytes([7] * 16)


def cluster() -> tuple[MetadataImage, bytes]:
    image = image_of(brokers=3)
    return image, with_topic(image, "t", factor=3)


def partition(image: MetadataImage) -> Partition:
    return image.topics["t"].partitions[0]


def assign(
    image: MetadataImage, broker_id: int, directory: bytes, topic_id: bytes, number: int = 0
) -> ErrorCode:
    wanted = DirectoryAssignment(directory=directory, topic_id=topic_id, partition=number)
    epoch = image.brokers[broker_id].epoch
    records, (result,) = decide_directories(image, CONFIG, broker_id, epoch, [wanted])
    commit(image, records)
    return result.error


def test_a_broker_reports_the_directory_of_a_replica() -> None:
    image, topic_id = cluster()
    other = disk_of(2)
    before = partition(image)
    assert assign(image, 2, other, topic_id) is ErrorCode.NONE
    assert partition(image) == before  # it was in that directory already
    image.brokers[2] = replace(image.brokers[2], log_dirs=(other, OTHER_DISK))
    assert assign(image, 2, OTHER_DISK, topic_id) is ErrorCode.NONE
    after = partition(image)
    assert after.directory_of(2) == OTHER_DISK
    assert [after.directory_of(each) for each in (1, 3)] == [disk_of(1), disk_of(3)]
    assert (after.isr, after.leader_epoch) == (before.isr, before.leader_epoch)


@pytest.mark.parametrize("directory", [OTHER_DISK, DIRECTORY_LOST])
def test_a_replica_in_a_directory_that_has_failed_leaves_the_in_sync_set(directory: bytes) -> None:
    image, topic_id = cluster()
    leader = partition(image).leader
    assert assign(image, leader, directory, topic_id) is ErrorCode.NONE
    after = partition(image)
    assert after.directory_of(leader) == directory
    assert leader not in after.isr
    assert after.leader in after.isr


@pytest.mark.parametrize(
    ("topic_id", "number", "broker_id", "error"),
    [
        (b"x" * 16, 0, 1, ErrorCode.UNKNOWN_TOPIC_ID),
        (None, 9, 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, 0, 4, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_report_about_another_replica_is_refused(
    topic_id: bytes | None, number: int, broker_id: int, error: ErrorCode
) -> None:
    image = image_of(brokers=4)
    known = with_topic(image, "t", factor=3)
    outsider = ({1, 2, 3, 4} - set(partition(image).replicas)).pop()
    sender = outsider if broker_id == 4 else partition(image).leader
    assert assign(image, sender, disk_of(sender), topic_id or known, number) is error


def test_a_broker_with_a_stale_epoch_reports_nothing() -> None:
    image, _ = cluster()
    with pytest.raises(Refusal) as refused:
        decide_directories(image, CONFIG, 1, 99, [])
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH
