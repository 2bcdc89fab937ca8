import pytest

from penstock_bench.peers.clients.stamp import due_s, stamped


def test_a_message_carries_its_due_time_and_has_the_requested_size() -> None:
    payload = stamped(12.5, 100)
    assert len(payload) == 100
    assert due_s(payload) == pytest.approx(12.5)
