"""Why a partition takes no records, or cannot say that it has them for good."""

from penstock.protocol.errors import ErrorCode
from penstock.storage.log.errors import LogError


class PartitionGone(LogError):
    """The partition is deleted."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class NotLeader(LogError):
    """Another broker leads: what was appended here counts only if that one has it."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class NotFollower(LogError):
    """The replica leads, or follows the leader of another epoch: what an earlier leader said holds no more."""

    code = ErrorCode.FENCED_LEADER_EPOCH


class NotEnoughReplicas(LogError):
    """Too few replicas are in sync for a write that wants all of them; nothing was appended."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class NotEnoughReplicasAfterAppend(LogError):
    """Too few replicas are in sync to commit what was appended."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
