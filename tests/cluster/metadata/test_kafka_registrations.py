import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from penstock.cluster.metadata.kafka_registrations import registers_kafka_nodes
from penstock.cluster.metadata.records import encode_batch
from penstock.cluster.metadata.state import REGISTERED_FEATURES
from penstock.protocol.messages import metadata_records as mr
from penstock.protocol.records.control import ControlType, build_control_batch
from penstock.protocol.wire import Buffer

KAFKA = {"metadata.version": (7, 30)}
TOPIC = mr.TopicRecord(name="a", topic_id=bytes(range(16)))


def broker(features: dict[str, tuple[int, int]]) -> mr.RegisterBrokerRecord:
    found = [
        mr.BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
        for name, (low, high) in features.items()
    ]
    return mr.RegisterBrokerRecord(broker_id=2, rack=None, features=found)


def controller(features: dict[str, tuple[int, int]]) -> mr.RegisterControllerRecord:
    found = [
        mr.ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
        for name, (low, high) in features.items()
    ]
    return mr.RegisterControllerRecord(controller_id=2, features=found)


async def log_of(batches: Sequence[bytes]) -> AsyncIterator[Buffer]:
    for each in batches:
        yield each


@pytest.mark.parametrize(
    ("records", "is_mixed"),
    [
        ([TOPIC], False),
        ([TOPIC, broker(KAFKA)], True),
        ([broker(dict(REGISTERED_FEATURES))], False),
        ([broker(KAFKA), mr.UnregisterBrokerRecord(broker_id=2)], False),
        ([broker(KAFKA), broker(dict(REGISTERED_FEATURES))], False),
        ([controller(KAFKA), TOPIC], True),
        ([controller(KAFKA), controller(dict(REGISTERED_FEATURES))], False),
    ],
)
def test_nodes_of_kafka_are_found_in_records_that_may_not_be_committed(
    records: Sequence[mr.MetadataRecord], is_mixed: bool
) -> None:
    control = build_control_batch(ControlType.LEADER_CHANGE, b"", timestamp=0, base_offset=0, leader_epoch=1)
    batches = [control, *(encode_batch([each], 0, 30) for each in records)]
    assert asyncio.run(registers_kafka_nodes(log_of(batches))) is is_mixed
