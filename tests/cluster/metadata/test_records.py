import pytest

from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.records import decode_batches, decode_value, encode_batch, encode_value
from penstock.protocol.messages import metadata_records as mr
from penstock.protocol.records.control import ControlType, build_control_batch

RECORDS: list[mr.MetadataRecord] = [
    mr.TopicRecord(name="a", topic_id=bytes(range(16))),
    mr.PartitionRecord(
        partition_id=0,
        topic_id=bytes(range(16)),
        replicas=[1, 2],
        isr=[1],
        leader=1,
        leader_epoch=3,
        partition_epoch=4,
        directories=[bytes(16), bytes(range(16))],
        eligible_leader_replicas=[2],
    ),
    mr.ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value=None),
    mr.NoOpRecord(),
]


def test_a_records_value_is_framed_as_kraft_frames_it() -> None:
    encoded = encode_value(mr.FeatureLevelRecord(name="metadata.version", feature_level=25), 25)
    assert encoded == b"\x01\x0c\x00" + b"\x11metadata.version" + b"\x00\x19" + b"\x00"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_round_trips(record: mr.MetadataRecord) -> None:
    assert decode_value(encode_value(record, 30)) == record


@pytest.mark.parametrize(("metadata_version", "version"), [(25, 3), (29, 3), (30, 4)])
def test_records_of_a_cluster_that_is_not_upgraded_can_be_read_by_its_old_brokers(
    metadata_version: int, version: int
) -> None:
    encoded = encode_value(mr.RegisterBrokerRecord(broker_id=1, rack=None), metadata_version)
    assert encoded[:3] == bytes([1, 0, version])


def test_a_decision_is_one_batch() -> None:
    batch = encode_batch(RECORDS, 5, 30)
    assert list(decode_batches(batch)) == [(3, RECORDS)]


def test_control_records_of_the_quorum_are_skipped_with_their_offset() -> None:
    control = build_control_batch(ControlType.LEADER_CHANGE, b"", timestamp=0, base_offset=0, leader_epoch=1)
    assert list(decode_batches(control)) == [(0, [])]


@pytest.mark.parametrize(
    "value", [b"", b"\x02\x02\x00", b"\x01\x63\x00", b"\x01\x02\x63", b"\x01\x02\x00\x7f"]
)
def test_a_value_that_is_no_record_is_reported(value: bytes) -> None:
    with pytest.raises(MetadataError, match="a metadata record"):
        decode_value(value)


def test_a_frame_of_another_version_is_reported_as_such() -> None:
    value = b"\x02" + encode_value(mr.NoOpRecord(), 30)[1:]
    with pytest.raises(MetadataError, match="a metadata record has frame version 2, not 1"):
        decode_value(value)


def test_a_torn_batch_is_reported() -> None:
    with pytest.raises(MetadataError, match="a batch of the metadata log cannot be read"):
        list(decode_batches(encode_batch(RECORDS, 0, 30)[:-1]))
