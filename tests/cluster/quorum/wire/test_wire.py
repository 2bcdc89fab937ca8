"""The quorum's messages go through Kafka's codecs and come back as they were."""

import pytest

from penstock.cluster.quorum import wire
from penstock.cluster.raft import messages as m
from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey
from penstock.cluster.raft.voters import Voter
from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import vote

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
REQUESTS: list[m.Request] = [
    FETCH,
    SNAPSHOT,
    VOTE,
    BEGIN,
    END,
    ADD,
    REMOVE,
    UPDATE,
    m.DescribeQuorumRequest(),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_a_request_comes_over_the_wire_as_it_was(request_: m.Request) -> None:
    api = wire.APIS[type(request_)]
    codec = apis.codec(api.key)
    out = bytearray()
    codec.encode_request_into(out, wire.encode_request(request_), api.version)
    assert wire.decode_request(codec.decode_request(bytes(out), api.version)) == request_


ANSWERS: list[tuple[m.Request, m.Response]] = [
    (FETCH, m.FetchResponse(epoch=3, leader_id=2, leader_endpoints=HERE, high_watermark=9, records=b"abc")),
    (FETCH, m.FetchResponse(epoch=3, leader_id=2, high_watermark=9, diverging=LogPosition(1, 5))),
    (FETCH, m.FetchResponse(epoch=3, leader_id=2, high_watermark=9, snapshot=LogPosition(2, 50))),
    (FETCH, m.FetchResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER, epoch=3)),
    (FETCH, m.FetchResponse(error=ErrorCode.INCONSISTENT_CLUSTER_ID)),
    (
        SNAPSHOT,
        m.FetchSnapshotResponse(
            epoch=3, leader_id=2, snapshot=LogPosition(2, 50), size_bytes=10, position=7, data=b"xyz"
        ),
    ),
    (VOTE, m.VoteResponse(epoch=3, is_granted=True)),
    (VOTE, m.VoteResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=4, leader_id=2, leader_endpoints=HERE)),
    (BEGIN, m.BeginQuorumEpochResponse(epoch=3, leader_id=1)),
    (END, m.EndQuorumEpochResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=4)),
    (ADD, m.VoterChangeResponse(error=ErrorCode.DUPLICATE_VOTER, message="twice")),
    (REMOVE, m.VoterChangeResponse()),
    (UPDATE, m.VoterChangeResponse(epoch=3, leader_id=1)),
]


@pytest.mark.parametrize(("request_", "response"), ANSWERS)
def test_an_answer_comes_over_the_wire_as_it_was(request_: m.Request, response: m.Response) -> None:
    api = wire.APIS[type(request_)]
    codec = apis.codec(api.key)
    message = wire.encode_response(request_, response)
    out = codec.encode_response(message, api.version)
    encoded = out if isinstance(out, bytes) else b"".join(bytes(each) for each in out)
    assert wire.decode_response(request_, codec.decode_response(encoded, api.version)) == response


def test_a_request_about_another_partition_is_not_the_quorums() -> None:
    topic = vote.RequestTopicData(topic_name="orders", partitions=[vote.RequestPartitionData()])
    with pytest.raises(wire.NotTheQuorum):
        wire.decode_request(vote.VoteRequest(topics=[topic]))
    with pytest.raises(wire.NotTheQuorum):
        wire.decode_request(vote.VoteRequest(topics=[]))
