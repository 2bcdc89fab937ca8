"""`penstock quota` against a real broker."""

import json

from tests.cli.conftest import Penstock

ALICE = ("--user", "alice", "--client", "<default>")


def test_a_quota_is_set_shown_and_removed(penstock: Penstock) -> None:
    penstock("quota", "set", "produce=1000", "request=50", *ALICE)
    (found,) = json.loads(penstock("quota", "list", "--json").stdout)
    assert found == {
        "entity": {"client-id": None, "user": "alice"},
        "quotas": {"producer_byte_rate": 1000.0, "request_percentage": 50.0},
    }
    assert "client-id=<default>, user=alice" in penstock("quota", "list").stdout
    penstock("quota", "remove", "produce", "request_percentage", *ALICE)
    assert json.loads(penstock("quota", "list", "--json").stdout) == []


def test_what_cannot_be_set_is_said_in_one_line(penstock: Penstock) -> None:
    assert "Give --user" in penstock("quota", "set", "produce=1", fails=True).stderr
    assert "write KEY=NUMBER" in penstock("quota", "set", "produce=much", *ALICE, fails=True).stderr
    wrong = penstock("quota", "set", "bytes=1", *ALICE, fails=True).stderr
    assert "Invalid configuration key bytes" in wrong
