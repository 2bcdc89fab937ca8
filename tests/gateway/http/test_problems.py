"""Failures as problem documents."""

import pytest

from penstock.client.aio import AuthenticationFailed, BrokerError, Disconnected, TimedOut
from penstock.gateway.http.problems import Problem, of_code, of_failure
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.errors import CorruptRecords


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 404),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 403),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, 403),
        (ErrorCode.MESSAGE_TOO_LARGE, 413),
        (ErrorCode.INVALID_RECORD, 400),
        (ErrorCode.OFFSET_OUT_OF_RANGE, 416),
        (ErrorCode.NOT_ENOUGH_REPLICAS, 503),
        (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 503),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 502),
    ],
)
def test_a_broker_error_has_a_status_a_name_and_advice(code: ErrorCode, status: int) -> None:
    document = of_code(code, "Trying").document()
    assert document["status"] == status
    assert document["kafka_error"] == code.name
    assert document["type"] == f"urn:kafka:error:{code.name}"
    assert document["detail"].startswith(f"Trying was answered with {code.name}: ")


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (BrokerError(ErrorCode.INVALID_TOPIC_EXCEPTION, "x", "said"), 400),
        (AuthenticationFailed("user 'u' has password p"), 401),
        (TimedOut("x"), 504),
        (Disconnected("x"), 503),
        (CorruptRecords("x"), 502),
        (Problem(409, "x"), 409),
    ],
)
def test_a_failure_of_the_client_is_a_problem_too(failure: Exception, status: int) -> None:
    problem = of_failure(failure)
    assert problem is not None
    assert problem.status == status
    assert "password p" not in problem.detail


def test_an_unexpected_exception_is_not_a_problem() -> None:
    assert of_failure(KeyError("x")) is None


def test_a_problem_names_the_login_scheme_or_the_time_to_wait() -> None:
    assert "Basic" in Problem(401, "x").headers()["WWW-Authenticate"]
    assert Problem(503, "x").headers() == {"Retry-After": "1"}
    assert Problem(404, "x").headers() == {}
