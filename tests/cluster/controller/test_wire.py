"""Encoding and decoding of brokers' requests to the controller."""

import msgspec

from penstock.cluster.controller import wire
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.protocol import apis
from tests.cluster.support import registration


def test_a_registration_round_trips() -> None:
    sent = msgspec.structs.replace(
        registration(4, "r1"), previous_epoch=17, log_dirs=[bytes([7] * 16)], features={"f": (1, 2)}
    )
    assert wire.registration_of(wire.registration_request(sent, "cluster")) == sent


def test_a_heartbeat_round_trips() -> None:
    sent = Heartbeat(
        metadata_offset=7, wants_fence=True, wants_shutdown=True, offline_log_dirs=(bytes([7] * 16),)
    )
    codec = apis.codec(63)
    encoded = bytearray()
    codec.encode_request_into(encoded, wire.heartbeat_request(4, 17, sent), 1)
    received = codec.decode_request(bytes(encoded), 1)
    assert (received.broker_id, received.broker_epoch, wire.heartbeat_of(received)) == (4, 17, sent)
