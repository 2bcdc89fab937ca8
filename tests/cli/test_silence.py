import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.cli.errors import CommandError
from penstock.cli.silence import Silence

POLLS_BEFORE_A_QUESTION = 150


class Client:
    """Counts what it is asked, and answers as long as `is_up`."""

    def __init__(self, *, is_up: bool = True) -> None:
        self.is_up = is_up
        self.questions = 0

    def list_topics(self, *, timeout: float) -> object:
        assert timeout > 0
        self.questions += 1
        if not self.is_up:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return object()

    def poll(self, _timeout: float) -> None: ...


def wait(silence: Silence, polls: int) -> None:
    for _ in range(polls):
        silence.lasts()


def test_a_short_silence_raises_no_question() -> None:
    client = Client()
    wait(Silence(client, "t"), POLLS_BEFORE_A_QUESTION - 1)
    assert client.questions == 0


def test_a_broker_that_does_not_answer_has_stopped() -> None:
    with pytest.raises(CommandError, match="the broker stopped answering for topic t; is it still running"):
        wait(Silence(Client(is_up=False), "t"), POLLS_BEFORE_A_QUESTION)


def test_a_broker_that_answers_is_waited_for_longer_but_not_for_ever() -> None:
    client = Client()
    silence = Silence(client, "t")
    wait(silence, 4 * POLLS_BEFORE_A_QUESTION - 1)
    assert client.questions == 3
    with pytest.raises(CommandError, match="the broker answers, but sends nothing of topic t"):
        silence.lasts()


def test_whoever_is_heard_begins_anew() -> None:
    client = Client(is_up=False)
    silence = Silence(client, "t")
    for _ in range(3):
        wait(silence, POLLS_BEFORE_A_QUESTION - 1)
        silence.heard()
    assert client.questions == 0
