import pytest

from penstock_bench.peers.wire import Refused
from penstock_bench.peers.wire.nats import NatsWire


def test_each_connection_is_answered_on_a_subject_of_its_own() -> None:
    wire = NatsWire()
    assert wire.publish_frame("s", b"abc", partition=0, number=7) == b"PUB s _INBOX.bench.7 3\r\nabc\r\n"


def test_acknowledgements_are_counted_wherever_the_bytes_are_split_and_pings_are_not() -> None:
    received = b'MSG _INBOX.bench.7 1 24\r\n{"stream":"s", "seq":12}\r\nPING\r\n' * 2
    for cut in range(len(received)):
        counter = NatsWire().acknowledgements("s")
        assert counter.count(received[:cut]) + counter.count(received[cut:]) == 2


def test_a_refusal_by_the_stream_is_no_acknowledgement() -> None:
    with pytest.raises(Refused):
        NatsWire().acknowledgements("s").count(b'MSG _INBOX.bench.7 1 9\r\n{"error":{"code":503}}\r\n')
