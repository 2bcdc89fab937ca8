"""Responses of the quorum round trip through Kafka's codecs."""

import pytest

from penstock.cluster.quorum import wire
from penstock.cluster.raft import messages as m
from penstock.cluster.raft.values import LogPosition
from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode
from tests.cluster.quorum.wire.requests import ADD, BEGIN, END, FETCH, HERE, REMOVE, SNAPSHOT, UPDATE, VOTE

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
def test_a_response_round_trips(request_: m.Request, response: m.Response) -> None:
    api = wire.APIS[type(request_)]
    codec = apis.codec(api.key)
    message = wire.encode_response(request_, response)
    out = codec.encode_response(message, api.version)
    encoded = out if isinstance(out, bytes) else b"".join(bytes(each) for each in out)
    assert (
        wire.decode_response(request_, codec.decode_response(encoded, api.version), "PLAINTEXT") == response
    )
