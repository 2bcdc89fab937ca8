"""`penstock cluster status` shows the disks of the brokers, and which of them are full."""

import json
from pathlib import Path

from tests.cli.conftest import run_command
from tests.support.plugin import running_broker


def test_status_shows_the_free_space_and_says_what_to_do_when_a_disk_is_full(tmp_path: Path) -> None:
    with running_broker(tmp_path, {"penstock.disk.reserve.bytes": str(1 << 60)}) as broker:
        status = ("cluster", "status", "--bootstrap-server", broker.bootstrap)
        shown = run_command(*status).stdout
        (disk,) = json.loads(run_command(*status, "--json").stdout)["disks"]
    assert " MB free of " in shown
    assert "The disk of broker 1 is full (" in shown
    assert "delete topics, lower their retention or enlarge the disk." in shown
    assert (disk["broker"], disk["state"], disk["reserveBytes"]) == (1, "full", 1 << 60)
    assert 0 < disk["freeBytes"] < disk["totalBytes"]
