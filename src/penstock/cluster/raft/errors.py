"""Errors of the quorum that are not error codes in answers."""


class RaftError(Exception):
    """The base class."""


class RaftFault(RaftError):
    """A peer sent a message that no correct peer sends. It is ignored."""


class QuorumStateDamaged(RaftError):
    """The file that holds this node's vote cannot be read: without it the node could vote twice."""


class RaftFailed(RaftError):
    """The disk of this node has failed: it has left the quorum until a restart."""


class NotLeader(RaftError):
    """The node does not lead; `leader_id` is the leader that it knows, if any."""

    def __init__(self, leader_id: int | None, epoch: int) -> None:
        whom = "no known node" if leader_id is None else f"node {leader_id}"
        super().__init__(f"this node does not lead the metadata quorum: {whom} leads epoch {epoch}")
        self.leader_id = leader_id
        self.epoch = epoch
