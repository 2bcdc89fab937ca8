"""What can go wrong in the quorum, beyond answers with an error code."""


class RaftError(Exception):
    """Base of all."""


class RaftFault(RaftError):
    """A peer said what no correct peer says. What it said is not taken in."""


class QuorumStateDamaged(RaftError):
    """The file that holds this node's vote cannot be read: without it the node could vote twice."""
