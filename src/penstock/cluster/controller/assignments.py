"""Replica assignments given by a client, and the records of new partitions."""

from collections.abc import Sequence

from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import DIRECTORY_UNASSIGNED
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import PartitionRecord


def check_manual_assignment(
    image: MetadataImage, replicas: Sequence[int], replication_factor: int | None
) -> None:
    """Raise `Refusal` unless each broker is registered and named once, and the replication factor is the same."""
    prefix = "The manual partition assignment includes"
    if not replicas:
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{prefix} an empty replica list.")
    for position, broker_id in enumerate(ordered := sorted(replicas)):
        if broker_id not in image.brokers:
            raise Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{prefix} broker {broker_id}, but no such broker is registered.",
            )
        if position and ordered[position - 1] == broker_id:
            raise Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{prefix} the broker {broker_id} more than once."
            )
    if replication_factor is not None and len(replicas) != replication_factor:
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{prefix} a partition with {len(replicas)} replica(s), but this is not consistent with previous "
            f"partitions, which have {replication_factor} replica(s).",
        )


def active_replicas(image: MetadataImage, replicas: Sequence[int]) -> list[int]:
    return [each for each in replicas if image.may_lead(each)]


def require_active_replica(image: MetadataImage, replicas: Sequence[int], number: int) -> None:
    """Raise `Refusal` if no replica of a manual assignment could lead."""
    if not active_replicas(image, replicas):
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers specified in the manual partition assignment for partition {number} are fenced or in "
            "controlled shutdown.",
        )


def new_partition(
    image: MetadataImage, topic_id: bytes, number: int, replicas: Sequence[int]
) -> PartitionRecord:
    """Make the record of a new partition, led by its first active replica."""
    isr = active_replicas(image, replicas)
    if not isr:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {len(replicas)} time(s): All brokers are currently fenced or in "
            "controlled shutdown.",
        )
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[directory_of(image, each) for each in replicas],
    )


def directory_of(image: MetadataImage, broker_id: int) -> bytes:
    """The directory of a new replica. A broker with several chooses when it creates the log (KIP-858)."""
    broker = image.brokers.get(broker_id)
    log_dirs = () if broker is None or broker.has_failed_disk else broker.log_dirs
    return log_dirs[0] if len(log_dirs) == 1 else DIRECTORY_UNASSIGNED
