import pytest

from penstock.client.aio import BrokerError, Disconnected, TimedOut
from penstock.console.refusals import Refused, check, of_failure, refusal, words_of
from penstock.protocol.errors import ErrorCode


def test_no_error_is_no_refusal() -> None:
    check(0, "Nothing happens")


def test_a_refusal_says_what_was_tried_and_why_in_words() -> None:
    with pytest.raises(Refused) as caught:
        check(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic a cannot be created", "Topic 'a' already exists.")
    assert caught.value.status == 409
    assert (
        caught.value.message
        == "Topic a cannot be created: a topic of that name exists already (TOPIC_ALREADY_EXISTS)."
    )


def test_the_broker_is_quoted_where_it_knows_better_what_is_wrong() -> None:
    told = refusal(ErrorCode.INVALID_CONFIG, "Topic a cannot be created", "retention.ms must be a number.")
    assert told.message == "Topic a cannot be created: retention.ms must be a number (INVALID_CONFIG)."
    unknown = refusal(ErrorCode.FEATURE_UPDATE_FAILED, "It failed", "because")
    assert unknown.message == "It failed: because (FEATURE_UPDATE_FAILED)."


@pytest.mark.parametrize("code", [code for code in ErrorCode if code.name.endswith("_AUTHORIZATION_FAILED")])
def test_who_is_not_allowed_reads_words_and_no_name_of_an_error(code: ErrorCode) -> None:
    told = refusal(code, "The disks cannot be shown", "Cluster authorization failed.")
    assert told.message.startswith("The disks cannot be shown: you are not allowed to; ")
    assert (words_of(code) or "").startswith("you are not allowed to; ")
    assert code.name not in told.message


def test_an_error_without_words_is_named() -> None:
    assert refusal(4711, "It failed").message == "It failed: the broker answered error code 4711."


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (BrokerError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "reading"), 403),
        (TimedOut("nobody answered"), 502),
        (Disconnected("no connection to the broker"), 502),
        (Refused(418, "TEA", "No."), 418),
    ],
)
def test_failures_of_the_client_are_refusals_too(failure: Exception, status: int) -> None:
    told = of_failure(failure, "It cannot be shown")
    assert told is not None
    assert told.status == status


def test_a_bug_is_none() -> None:
    assert of_failure(KeyError("x"), "It cannot be shown") is None
