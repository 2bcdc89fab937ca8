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
