"""Finds registrations of Apache Kafka's nodes in a part of the metadata log that may not be committed.

A node that starts knows only what its snapshot has, until a leader says what is committed. If Kafka's nodes lead, it
must trust them before that.
"""

from collections.abc import AsyncIterable
from typing import Final

from penstock.cluster.metadata.records import FRAME_VERSION, decode_value
from penstock.cluster.metadata.state import RegisteredBroker, RegisteredController, is_kafka_node
from penstock.protocol.messages import metadata_records as mr
from penstock.protocol.messages.metadata_records import SPEC_OF
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.record import iter_records
from penstock.protocol.wire import Buffer

_HEADS: Final = frozenset(
    bytes([FRAME_VERSION, SPEC_OF[each].api_key])
    for each in (mr.RegisterBrokerRecord, mr.RegisterControllerRecord, mr.UnregisterBrokerRecord)
)
"""How the values of these records begin."""


async def registers_kafka_nodes(pieces: AsyncIterable[Buffer]) -> bool:
    """Whether nodes of Kafka are registered in whole batches of the log, and stay so up to their end."""
    brokers: set[int] = set()
    controllers: set[int] = set()
    async for buffer in pieces:
        for record in _registrations(buffer):
            if isinstance(record, mr.UnregisterBrokerRecord):
                brokers.discard(record.broker_id)
            elif isinstance(record, mr.RegisterBrokerRecord):
                broker = RegisteredBroker.of(record)
                (brokers.add if broker.is_kafka else brokers.discard)(broker.broker_id)
            elif isinstance(record, mr.RegisterControllerRecord):
                controller = RegisteredController.of(record)
                is_kafka = is_kafka_node(controller.features)
                (controllers.add if is_kafka else controllers.discard)(controller.controller_id)
    return bool(brokers or controllers)


def _registrations(buffer: Buffer) -> list[mr.MetadataRecord]:
    return [
        decode_value(record.value)
        for pos, header in iter_batches_strict(buffer)
        if not header.is_control
        for record in iter_records(buffer, pos=pos)
        if record.value is not None and bytes(record.value[:2]) in _HEADS
    ]
