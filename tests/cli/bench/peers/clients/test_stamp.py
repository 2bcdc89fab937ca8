import pytest

from penstock.cli.bench.peers.clients.stamp import due_s, stamped


def test_a_message_tells_when_it_was_due_and_has_the_size_that_was_asked_for() -> None:
    payload = stamped(12.5, 100)
    assert len(payload) == 100
    assert due_s(payload) == pytest.approx(12.5)
