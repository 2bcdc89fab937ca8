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


def test_limits_are_shown_as_they_were_given(penstock: Penstock) -> None:
    printed = penstock("quota", "set", "produce=1048576", "request=12.5", *ALICE).stdout
    assert printed.splitlines() == [
        "user=alice, client-id=<default>: producer_byte_rate is 1048576",
        "user=alice, client-id=<default>: request_percentage is 12.5",
    ]
    rows = [line.split()[-2:] for line in penstock("quota", "list").stdout.splitlines()[1:]]
    assert sorted(rows) == [["producer_byte_rate", "1048576"], ["request_percentage", "12.5"]]
    assert "is removed" in penstock("quota", "remove", "produce", "request", *ALICE).stdout


def test_an_invalid_quota_is_one_line(penstock: Penstock) -> None:
    assert "give --user" in penstock("quota", "set", "produce=1", fails=True).stderr
    assert "write KEY=NUMBER" in penstock("quota", "set", "produce=much", *ALICE, fails=True).stderr
    wrong = penstock("quota", "set", "bytes=1", *ALICE, fails=True).stderr
    assert "Invalid configuration key bytes" in wrong
