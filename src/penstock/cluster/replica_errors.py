"""Errors of appends and commits that a replica refuses."""

from penstock.protocol.errors import ErrorCode
from penstock.storage.errors import LogError


class PartitionGone(LogError):
    """The partition is deleted."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class NotLeader(LogError):
    """Another broker leads: records appended here count only if that broker has them."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class NotFollower(LogError):
    """The replica leads, or follows the leader of another epoch: an earlier leader's answer is void."""

    code = ErrorCode.FENCED_LEADER_EPOCH


class NotEnoughReplicas(LogError):
    """Too few replicas are in sync for an append with acks=all; nothing was appended."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class NotEnoughReplicasAfterAppend(LogError):
    """Too few replicas are in sync to commit the records, which were appended."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


class ReadOnlyPartition(LogError):
    """Only a mirror of another cluster may write the partition. Clients know no code for that (KIP-1279 adds one)."""

    code = ErrorCode.POLICY_VIOLATION

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"Topic {topic} is a mirror of another cluster's, and read-only here until it is promoted: "
            "penstock mirror promote"
        )
