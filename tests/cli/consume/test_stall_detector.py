import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.cli.consume.stall_detector import StallDetector
from penstock.cli.errors import CommandError

POLLS_BEFORE_A_REQUEST = 150


class Client:
    """Counts its requests, and responds as long as `is_up`."""

    def __init__(self, *, is_up: bool = True) -> None:
        self.is_up = is_up
        self.requests = 0

    def list_topics(self, *, timeout: float) -> object:
        assert timeout > 0
        self.requests += 1
        if not self.is_up:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return object()

    def poll(self, _timeout: float) -> None: ...


def wait(stall: StallDetector, polls: int) -> None:
    for _ in range(polls):
        stall.observe(is_active=False)


def test_a_few_empty_polls_send_no_request() -> None:
    client = Client()
    wait(StallDetector(client, "t"), POLLS_BEFORE_A_REQUEST - 1)
    assert client.requests == 0


def test_a_broker_that_does_not_respond_has_stopped() -> None:
    with pytest.raises(
        CommandError, match="the broker stopped responding for topic t: check that it is running"
    ):
        wait(StallDetector(Client(is_up=False), "t"), POLLS_BEFORE_A_REQUEST)


def test_a_broker_that_responds_is_given_more_time_but_not_for_ever() -> None:
    client = Client()
    stall = StallDetector(client, "t")
    wait(stall, 4 * POLLS_BEFORE_A_REQUEST - 1)
    assert client.requests == 3
    with pytest.raises(CommandError, match="the broker responds, but sends no records of topic t"):
        stall.observe(is_active=False)


def test_a_poll_with_records_resets_the_count() -> None:
    client = Client(is_up=False)
    stall = StallDetector(client, "t")
    for _ in range(3):
        wait(stall, POLLS_BEFORE_A_REQUEST - 1)
        stall.observe(is_active=True)
    assert client.requests == 0
