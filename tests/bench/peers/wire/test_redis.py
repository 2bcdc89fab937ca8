import pytest

from penstock_bench.peers.wire import Refused
from penstock_bench.peers.wire.redis import RedisWire


def test_a_message_is_an_xadd_with_lengths_in_front_of_every_word() -> None:
    frame = RedisWire().publish_frame("s", b"abc", partition=0, number=0)
    assert frame == b"*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nv\r\n$3\r\nabc\r\n"


def test_answers_are_counted_wherever_the_bytes_are_split() -> None:
    answers = b"$15\r\n1700000000000-0\r\n" * 3
    for cut in range(len(answers)):
        counter = RedisWire().acknowledgements("s")
        assert counter.count(answers[:cut]) + counter.count(answers[cut:]) == 3


def test_an_error_is_no_acknowledgement() -> None:
    with pytest.raises(Refused, match="MISCONF"):
        RedisWire().acknowledgements("s").count(b"-MISCONF no room\r\n")
