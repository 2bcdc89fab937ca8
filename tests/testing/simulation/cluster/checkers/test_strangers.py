"""The checker of what strangers get, with answers that are made up."""

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
from penstock.testing.simulation.cluster.checkers.strangers import INVARIANT, StrangerChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

VOTE, MARKERS, UNREGISTER = 52, 27, 64
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.fixture
def verdict() -> Verdict:
    return Verdict()


@pytest.fixture
def checker(verdict: Verdict) -> StrangerChecker:
    return StrangerChecker(verdict)


def markers(*codes: ErrorCode) -> WriteTxnMarkersResponse:
    partitions = [WritableTxnMarkerPartitionResult(partition_index=0, error_code=each) for each in codes]
    topics = [WritableTxnMarkerTopicResult(name="ledger", partitions=partitions)]
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=1, topics=topics)])


def found(verdict: Verdict) -> str | None:
    return None if verdict.violation is None else verdict.violation.invariant


def test_a_refusal_is_counted(checker: StrangerChecker, verdict: Verdict) -> None:
    checker.is_answered(VOTE, VoteRequest(), VoteResponse(error_code=REFUSED))
    checker.is_answered(MARKERS, None, markers(REFUSED, REFUSED))
    assert checker.refused == {VOTE: 1, MARKERS: 1}
    assert found(verdict) is None


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
def test_any_other_answer_is_noticed(checker: StrangerChecker, verdict: Verdict, answer: object) -> None:
    checker.is_answered(VOTE, VoteRequest(), answer)
    assert found(verdict) == INVARIANT


def test_what_administrators_may_send_has_to_fail_for_any_reason(
    checker: StrangerChecker, verdict: Verdict
) -> None:
    checker.is_told(UNREGISTER, None, UnregisterBrokerResponse(error_code=ErrorCode.INVALID_REQUEST))
    assert found(verdict) is None
    checker.is_told(UNREGISTER, None, UnregisterBrokerResponse())
    assert found(verdict) == INVARIANT


def test_a_broker_that_connects_to_a_stranger_is_noticed(checker: StrangerChecker, verdict: Verdict) -> None:
    checker.is_connected_to("node-1")
    assert found(verdict) == INVARIANT


def test_metadata_that_only_a_stranger_asked_for_is_noticed(
    checker: StrangerChecker, verdict: Verdict
) -> None:
    checker.changes("node-1 knows brokers {66}")
    assert found(verdict) == INVARIANT
