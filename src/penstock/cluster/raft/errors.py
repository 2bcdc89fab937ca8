"""What can go wrong in the quorum, beyond answers with an error code."""


class RaftError(Exception):
    """Base of all."""


class RaftFault(RaftError):
    """A peer said what no correct peer says. What it said is not taken in."""


class QuorumStateDamaged(RaftError):
    """The file that holds this node's vote cannot be read: without it the node could vote twice."""


class RaftFailed(RaftError):
    """The disk under this node has failed: it takes no more part until it is started again."""


class NotLeader(RaftError):
    """The node does not lead, or not any more; `leader_id` does, as far as it knows."""

    def __init__(self, leader_id: int | None, epoch: int) -> None:
        whom = "nobody that is known" if leader_id is None else f"node {leader_id}"
        super().__init__(f"this node does not lead the metadata quorum: {whom} leads epoch {epoch}")
        self.leader_id = leader_id
        self.epoch = epoch
