import pytest

from penstock_bench.peers.outage import longest_outage

PUBLISH_S = 0.1


class Node:
    """Takes a tenth of a second for a message, and from `dies_at` on refuses until `leads_again_at`."""

    def __init__(self, dies_at: float, leads_again_at: float) -> None:
        self._dies_at, self._leads_again_at = dies_at, leads_again_at
        self.now = 0.0
        self.is_open = True

    def sleep(self, duration_s: float) -> None:
        self.now += duration_s

    def publish_one(self, _payload: bytes) -> None:
        assert self.is_open
        self.now += PUBLISH_S
        if self.is_dead():
            self.is_open = False
            raise OSError("connection reset")

    def reopen_publisher(self) -> None:
        if self.is_dead():
            raise ConnectionRefusedError
        self.is_open = True

    def longest_outage_s(self) -> float:
        return longest_outage(
            self, b"x", 60, lambda: self.now >= 5.0, clock=lambda: self.now, sleep=self.sleep
        )

    def is_dead(self) -> bool:
        return self._dies_at <= self.now < self._leads_again_at


def test_the_longest_time_between_two_acknowledgements_spans_the_outage() -> None:
    node = Node(dies_at=5.0, leads_again_at=7.5)
    assert 2.5 <= node.longest_outage_s() <= 2.5 + 3 * PUBLISH_S
    assert node.now >= 8.5  # it went on for a second


def test_without_an_outage_the_longest_time_is_that_of_a_publish() -> None:
    node = Node(dies_at=1e9, leads_again_at=1e9)
    assert node.longest_outage_s() == pytest.approx(PUBLISH_S)


def test_an_outage_that_does_not_end_is_an_error() -> None:
    node = Node(dies_at=5.0, leads_again_at=1e9)
    with pytest.raises(ConnectionRefusedError):
        node.longest_outage_s()
