"""Batch headers of producers."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, BatchHeader
from penstock.protocol.records.control import EndTxnMarker
from penstock.storage.producers.state import (
    Duplicate,
    ProducerStates,
    Refusal,
)

PRODUCER = 4000
COMMIT = EndTxnMarker(is_commit=True, coordinator_epoch=0)
ABORT = EndTxnMarker(is_commit=False, coordinator_epoch=0)
SEQUENCE_MAX = 2**31 - 1


def batch(
    sequence: int,
    count: int = 1,
    *,
    epoch: int = 0,
    producer_id: int = PRODUCER,
    base_offset: int = 0,
    timestamp: int = 1000,
    is_transactional: bool = False,
    is_control: bool = False,
) -> BatchHeader:
    attributes = TRANSACTIONAL_FLAG * is_transactional + CONTROL_FLAG * is_control
    return BatchHeader(
        base_offset,
        100,
        0,
        2,
        0,
        attributes,
        count - 1,
        timestamp,
        timestamp,
        producer_id,
        epoch,
        sequence,
        count,
    )


def append(states: ProducerStates, header: BatchHeader, at: int, *, is_from_client: bool = True) -> None:
    assert states.check(header, is_from_client=is_from_client) is None
    states.update(header, at, header.max_timestamp)


def code_of(verdict: Duplicate | Refusal | None) -> ErrorCode:
    assert isinstance(verdict, Refusal)
    return verdict.code
