"""Both ends of what brokers ask the controller."""

import msgspec

from penstock.cluster.controller import wire
from tests.cluster.support import registration


def test_a_registration_arrives_as_it_was_sent() -> None:
    sent = msgspec.structs.replace(
        registration(4, "r1"), previous_epoch=17, log_dirs=[bytes([7] * 16)], features={"f": (1, 2)}
    )
    assert wire.registration_of(wire.registration_request(sent, "cluster")) == sent
