from penstock.client.aio import TopicPartition
from penstock.console.api.groups import classic_member, offset_row
from penstock.protocol.messages import consumer_protocol_assignment
from penstock.protocol.messages.describe_groups import DescribedGroupMember

_WHERE = TopicPartition("orders", 3)


def test_lag_is_the_distance_from_the_committed_offset_to_the_end() -> None:
    assert offset_row(_WHERE, 7, 10, "reader")["lag"] == 3


def test_lag_is_unknown_without_a_commit_or_an_end_and_never_negative() -> None:
    assert offset_row(_WHERE, None, 10, None)["lag"] is None
    assert offset_row(_WHERE, 7, None, None)["lag"] is None
    assert offset_row(_WHERE, 12, 10, None)["lag"] == 0


def test_the_assignment_of_a_classic_member_is_read_in_any_version() -> None:
    assignment = consumer_protocol_assignment.ConsumerProtocolAssignment(
        assigned_partitions=[consumer_protocol_assignment.TopicPartition(topic="orders", partitions=[0, 2])]
    )
    data = b"\x00\x09" + consumer_protocol_assignment.encode(assignment, 0)
    member = classic_member(DescribedGroupMember(client_id="a", member_assignment=data))
    assert member["assignment"] == [{"topic": "orders", "partitions": [0, 2]}]


def test_the_assignment_of_another_kind_of_group_is_unknown() -> None:
    for data in (b"", b"\x00", b"connect worker \xff\xff\xff\xff"):
        assert classic_member(DescribedGroupMember(member_assignment=data))["assignment"] == []
