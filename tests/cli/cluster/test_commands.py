"""`penstock cluster status` shows the disks of the brokers, which of them are full, and what is damaged on them."""

import json
from pathlib import Path

from confluent_kafka import Producer

from penstock.protocol.records.batch import HEADER_SIZE
from tests.cli.conftest import run_command
from tests.support.cluster import eventually
from tests.support.plugin import running_broker


def test_status_shows_the_free_space_and_a_hint_when_a_disk_is_full(tmp_path: Path) -> None:
    with running_broker(tmp_path, {"penstock.disk.reserve.bytes": str(1 << 60)}) as broker:
        status = ("cluster", "status", "--bootstrap-server", broker.bootstrap)
        shown = run_command(*status).stdout
        (disk,) = json.loads(run_command(*status, "--json").stdout)["disks"]
    assert " MB free of " in shown
    assert "The disk of broker 1 is full (" in shown
    assert "delete topics, lower their retention or enlarge the disk." in shown
    assert (disk["broker"], disk["state"], disk["reserveBytes"]) == (1, "full", 1 << 60)
    assert 0 < disk["freeBytes"] < disk["totalBytes"]


def test_status_names_the_damaged_records_of_a_broker_also_after_a_restart(tmp_path: Path) -> None:
    with running_broker(tmp_path, {"penstock.log.scrub.interval.ms": "100"}) as broker:
        status = ("cluster", "status", "--bootstrap-server", broker.bootstrap)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", b"a value", partition=0)
        assert producer.flush(30) == 0
        assert json.loads(run_command(*status, "--json").stdout)["damage"] == []
        with (broker.data_dir / "orders-0" / f"{0:020d}.log").open("r+b") as file:
            file.seek(HEADER_SIZE + 8)
            file.write(b"X")
        eventually(lambda: "damaged" in run_command(*status).stdout, "the damage is shown")
        broker.restart()
        shown = run_command(*status).stdout
        (damage,) = json.loads(run_command(*status, "--json").stdout)["damage"]
    assert (
        "orders-0 has damaged records on the disk of broker 1 (offsets 0), which are not served: restore"
        in shown
    )
    assert damage == {"broker": 1, "topic": "orders", "partition": 0, "rangeCount": 1, "ranges": [[0, 0]]}
