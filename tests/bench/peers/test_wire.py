import struct
from collections.abc import Sequence

import pytest

from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.peers.wire import WIRES, AmqpWire, KafkaWire, NatsWire, RedisWire


def ack(tag: int, *, is_multiple: bool = False) -> bytes:
    payload = struct.pack(">HHQB", 60, 80, tag, is_multiple)
    return struct.pack(">BHI", 1, 1, len(payload)) + payload + b"\xce"


def count(wire: KafkaWire, pieces: Sequence[bytes]) -> list[int]:
    counter = wire.counter("s")
    return [counter.count(memoryview(piece)) for piece in pieces]


@pytest.mark.parametrize(
    ("wire", "received"),
    [
        (AmqpWire(), ack(1) + ack(2)),
        (NatsWire(), b'MSG _INBOX.bench.7 1 24\r\n{"stream":"s", "seq":12}\r\nPING\r\n' * 2),
        (RedisWire(), b"$15\r\n1700000000000-0\r\n" * 2),
    ],
)
def test_acknowledgements_are_counted_wherever_the_bytes_are_split(wire: KafkaWire, received: bytes) -> None:
    for cut in range(len(received)):
        assert sum(count(wire, (received[:cut], received[cut:]))) == 2


@pytest.mark.parametrize(
    ("wire", "received", "reason"),
    [
        (AmqpWire(), ack(1)[:7] + struct.pack(">HH", 60, 120) + ack(1)[11:], r"60\.120"),
        (NatsWire(), b'MSG _INBOX.bench.7 1 9\r\n{"error":{"code":503}}\r\n', "503"),
        (RedisWire(), b"-MISCONF no room\r\n", "MISCONF"),
    ],
)
def test_a_refusal_is_no_acknowledgement(wire: KafkaWire, received: bytes, reason: str) -> None:
    with pytest.raises(UnexpectedAnswer, match=reason):
        count(wire, [received])


def test_a_multiple_acknowledgement_counts_for_all_messages_it_covers() -> None:
    assert count(WIRES["amqp"], [ack(1), ack(5, is_multiple=True)]) == [1, 4]


def test_each_connection_of_nats_is_answered_on_a_subject_of_its_own() -> None:
    frame = WIRES["nats"].publish_frame("s", b"abc", partition=0, number=7)
    assert frame == b"PUB s _INBOX.bench.7 3\r\nabc\r\n"


def test_a_message_to_redis_is_an_xadd_with_lengths_in_front_of_every_word() -> None:
    frame = WIRES["redis"].publish_frame("s", b"abc", partition=0, number=0)
    assert frame == b"*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nv\r\n$3\r\nabc\r\n"


def test_a_message_of_amqp_is_three_frames_each_with_its_end_mark() -> None:
    frame = WIRES["amqp"].publish_frame("q", b"abc", partition=0, number=0)
    kinds = []
    position = 0
    while position < len(frame):
        kind, channel, size = struct.unpack_from(">BHI", frame, position)
        position += 7 + size
        assert frame[position] == 0xCE
        assert channel == 1
        position += 1
        kinds.append(kind)
    assert kinds == [1, 2, 3]
