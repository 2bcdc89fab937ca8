"""Error codes."""

from penstock.protocol.errors import RETRIABLE, ErrorCode, is_retriable
from tests.protocol.message_strategies import model


def test_every_code_of_the_definitions_is_there() -> None:
    assert {code.name: int(code) for code in ErrorCode} == model().error_codes
    assert (ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR) == (0, -1)


def test_transient_errors_are_retriable_and_permanent_ones_are_not() -> None:
    assert is_retriable(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert is_retriable(int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    assert not is_retriable(ErrorCode.NONE)
    assert not is_retriable(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert not is_retriable(31_000)
    assert ErrorCode.INVALID_PRODUCER_EPOCH not in RETRIABLE
