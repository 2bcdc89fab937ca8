"""Which API carries which request, and in which version: the newest that Kafka 4.3 has."""

from typing import Final, NamedTuple

from penstock.cluster.raft import messages as m


class NotTheQuorum(Exception):
    """The message is not about the quorum's partition."""


class Api(NamedTuple):
    """Which API a request is sent by, and in which version: the newest that Kafka 4.3 has."""

    key: int
    version: int


APIS: Final[dict[type, Api]] = {
    m.FetchRequest: Api(1, 18),
    m.VoteRequest: Api(52, 2),
    m.BeginQuorumEpochRequest: Api(53, 1),
    m.EndQuorumEpochRequest: Api(54, 1),
    m.DescribeQuorumRequest: Api(55, 2),
    m.FetchSnapshotRequest: Api(59, 1),
    m.AddVoterRequest: Api(80, 1),
    m.RemoveVoterRequest: Api(81, 0),
    m.UpdateVoterRequest: Api(82, 0),
}
