"""The checker of answers to nodes outside the cluster, with made-up answers."""

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.unregister_broker import UnregisterBrokerResponse
from penstock.protocol.messages.vote import VoteRequest, VoteResponse
from penstock.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from penstock_simulation.cluster.checkers.strangers import INVARIANT, StrangerChecker
from penstock_simulation.violation import ViolationLog

VOTE, MARKERS, UNREGISTER = 52, 27, 64
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.fixture
def violations() -> ViolationLog:
    return ViolationLog()


@pytest.fixture
def checker(violations: ViolationLog) -> StrangerChecker:
    return StrangerChecker(violations)


def markers(*codes: ErrorCode) -> WriteTxnMarkersResponse:
    partitions = [WritableTxnMarkerPartitionResult(partition_index=0, error_code=each) for each in codes]
    topics = [WritableTxnMarkerTopicResult(name="ledger", partitions=partitions)]
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=1, topics=topics)])


def found(violations: ViolationLog) -> str | None:
    return None if violations.first is None else violations.first.invariant


def test_a_refusal_is_counted(checker: StrangerChecker, violations: ViolationLog) -> None:
    checker.on_broker_api_answer(VOTE, VoteRequest(), VoteResponse(error_code=REFUSED))
    checker.on_broker_api_answer(MARKERS, None, markers(REFUSED, REFUSED))
    assert checker.refused == {VOTE: 1, MARKERS: 1}
    assert found(violations) is None


@pytest.mark.parametrize(
    "answer",
    [
        VoteResponse(),
        VoteResponse(error_code=ErrorCode.INVALID_REQUEST),
        markers(ErrorCode.NONE),
        markers(REFUSED, ErrorCode.NONE),
        markers(),
    ],
)
def test_any_other_answer_is_noticed(
    checker: StrangerChecker, violations: ViolationLog, answer: object
) -> None:
    checker.on_broker_api_answer(VOTE, VoteRequest(), answer)
    assert found(violations) == INVARIANT


def test_a_request_that_administrators_may_send_has_to_fail_for_any_reason(
    checker: StrangerChecker, violations: ViolationLog
) -> None:
    checker.on_admin_api_answer(
        UNREGISTER, None, UnregisterBrokerResponse(error_code=ErrorCode.INVALID_REQUEST)
    )
    assert found(violations) is None
    checker.on_admin_api_answer(UNREGISTER, None, UnregisterBrokerResponse())
    assert found(violations) == INVARIANT


def test_a_broker_that_connects_to_a_stranger_is_noticed(
    checker: StrangerChecker, violations: ViolationLog
) -> None:
    checker.on_connection("node-1")
    assert found(violations) == INVARIANT


def test_metadata_that_only_a_stranger_asked_for_is_noticed(
    checker: StrangerChecker, violations: ViolationLog
) -> None:
    checker.fail("node-1 knows brokers {66}")
    assert found(violations) == INVARIANT
