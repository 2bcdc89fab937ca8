import struct

import pytest

from penstock_bench.peers.wire import Refused
from penstock_bench.peers.wire.amqp import AmqpWire


def ack(tag: int, *, is_multiple: bool = False) -> bytes:
    payload = struct.pack(">HHQB", 60, 80, tag, is_multiple)
    return struct.pack(">BHI", 1, 1, len(payload)) + payload + b"\xce"


def test_acknowledgements_are_counted_wherever_the_bytes_are_split() -> None:
    received = ack(1) + ack(2)
    for cut in range(len(received)):
        counter = AmqpWire().acknowledgements("q")
        assert counter.count(received[:cut]) + counter.count(received[cut:]) == 2


def test_a_multiple_acknowledgement_counts_for_all_messages_it_covers() -> None:
    counter = AmqpWire().acknowledgements("q")
    assert counter.count(ack(1)) == 1
    assert counter.count(ack(5, is_multiple=True)) == 4


def test_a_nack_is_no_acknowledgement() -> None:
    nack = bytearray(ack(1))
    nack[7:11] = struct.pack(">HH", 60, 120)
    with pytest.raises(Refused, match=r"60\.120"):
        AmqpWire().acknowledgements("q").count(bytes(nack))


def test_a_message_is_three_frames_each_with_its_end_mark() -> None:
    frame = AmqpWire().publish_frame("q", b"abc", partition=0, number=0)
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
