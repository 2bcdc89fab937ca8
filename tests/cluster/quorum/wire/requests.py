"""A request of each kind."""

from penstock.cluster.raft import messages as m
from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey
from penstock.cluster.raft.voters import Voter

ONE, TWO = ReplicaKey(1, b"1" * 16), ReplicaKey(2, b"2" * 16)


HERE = (Address("PLAINTEXT", "here", 9092),)


FETCH = m.FetchRequest(
    cluster_id="c",
    replica=ONE,
    epoch=3,
    offset=10,
    last_epoch=2,
    max_wait_ms=500,
    max_bytes=100,
    high_watermark=9,
)


SNAPSHOT = m.FetchSnapshotRequest(
    cluster_id="c", replica=ONE, epoch=3, snapshot=LogPosition(2, 50), position=7, max_bytes=99
)


VOTE = m.VoteRequest(
    cluster_id="c", voter=TWO, candidate=ONE, epoch=3, last=LogPosition(2, 10), is_pre_vote=True
)


BEGIN = m.BeginQuorumEpochRequest(cluster_id="c", voter=TWO, leader_id=1, epoch=3, endpoints=HERE)


END = m.EndQuorumEpochRequest(cluster_id="c", leader_id=1, epoch=3, preferred=(TWO, ONE), endpoints=HERE)


ADD = m.AddVoterRequest(
    cluster_id="c", voter=Voter(key=ONE, endpoints=HERE), timeout_ms=5, ack_when_committed=False
)


REMOVE = m.RemoveVoterRequest(cluster_id="c", voter=ONE)


UPDATE = m.UpdateVoterRequest(cluster_id="c", epoch=3, voter=Voter(key=ONE, endpoints=HERE, versions=(0, 1)))
