import pytest

from penstock.client.aio import BrokerError, Disconnected, TimedOut
from penstock.console.refusals import Refused, check, of_failure, refusal, words_of
from penstock.protocol.errors import ErrorCode


def test_no_error_is_no_refusal() -> None:
    check(0, "Nothing happens")


def test_a_refusal_names_the_action_and_the_reason() -> None:
    with pytest.raises(Refused) as caught:
        check(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic a cannot be created", "Topic 'a' already exists.")
    assert caught.value.status == 409
    assert (
        caught.value.message
        == "Topic a cannot be created: a topic of that name already exists (TOPIC_ALREADY_EXISTS)."
    )


def test_a_refusal_quotes_the_brokers_message() -> None:
    refused = refusal(ErrorCode.INVALID_CONFIG, "Topic a cannot be created", "retention.ms must be a number.")
    assert refused.message == "Topic a cannot be created: retention.ms must be a number (INVALID_CONFIG)."
    unknown = refusal(ErrorCode.FEATURE_UPDATE_FAILED, "It failed", "because")
    assert unknown.message == "It failed: because (FEATURE_UPDATE_FAILED)."


@pytest.mark.parametrize("code", [code for code in ErrorCode if code.name.endswith("_AUTHORIZATION_FAILED")])
def test_an_authorization_error_has_a_plain_message_without_the_code(code: ErrorCode) -> None:
    refused = refusal(code, "The disks cannot be shown", "Cluster authorization failed.")
    assert refused.message.startswith("The disks cannot be shown: you are not allowed to; ")
    assert (words_of(code) or "").startswith("you are not allowed to; ")
    assert code.name not in refused.message


def test_an_error_without_a_message_shows_its_code() -> None:
    assert refusal(4711, "It failed").message == "It failed: the broker answered error code 4711."


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (BrokerError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "reading"), 403),
        (TimedOut("no answer"), 502),
        (Disconnected("no connection to the broker"), 502),
        (Refused(418, "TEA", "No."), 418),
    ],
)
def test_failures_of_the_client_are_refusals_too(failure: Exception, status: int) -> None:
    refused = of_failure(failure, "It cannot be shown")
    assert refused is not None
    assert refused.status == status


def test_a_bug_is_not_a_refusal() -> None:
    assert of_failure(KeyError("x"), "It cannot be shown") is None
