"""Requests of the quorum round trip through Kafka's codecs."""

import msgspec
import pytest

from penstock.cluster.quorum import wire
from penstock.cluster.raft import messages as m
from penstock.protocol import apis
from penstock.protocol.messages import vote
from tests.cluster.quorum.wire.requests import ADD, BEGIN, END, FETCH, REMOVE, SNAPSHOT, UPDATE, VOTE

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
def test_a_request_round_trips(request_: m.Request) -> None:
    api = wire.APIS[type(request_)]
    codec = apis.codec(api.key)
    out = bytearray()
    codec.encode_request_into(out, wire.encode_request(request_, api.version), api.version)
    assert wire.decode_request(codec.decode_request(bytes(out), api.version)) == request_


def test_a_request_for_another_partition_is_refused() -> None:
    topic = vote.RequestTopicData(topic_name="orders", partitions=[vote.RequestPartitionData()])
    with pytest.raises(wire.NotTheQuorum):
        wire.decode_request(vote.VoteRequest(topics=[topic]))
    with pytest.raises(wire.NotTheQuorum):
        wire.decode_request(vote.VoteRequest(topics=[]))


def test_a_leader_before_kafka_4_2_is_asked_for_a_vote_without_the_choice_when_it_answers() -> None:
    codec = apis.codec(wire.APIS[m.AddVoterRequest].key)
    out = bytearray()
    codec.encode_request_into(out, wire.encode_request(ADD, 0), 0)
    decoded = wire.decode_request(codec.decode_request(bytes(out), 0))
    assert decoded == msgspec.structs.replace(ADD, ack_when_committed=True)
