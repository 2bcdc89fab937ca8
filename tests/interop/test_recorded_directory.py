"""A data directory that Apache Kafka 4.3.1 wrote (`tests/interop/kafka/record_directory.py`), served without Java."""

import tarfile
import time
from pathlib import Path

import msgspec
import pytest

from penstock.cluster.kafka_directory import inspect, ran_kafka_last
from penstock.embedded.broker import Broker
from penstock.embedded.clock import ClusterTime
from penstock.storage.files import RealFileSystem
from tests.interop.kafka.content import Contents, Writer, assert_same, read
from tests.interop.kafka.record_directory import ARCHIVE, CONTENTS

_SETTINGS: dict[str, str | int | float | bool] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
    "transaction.max.timeout.ms": 2**31 - 1,
    "log.message.timestamp.after.max.ms": 2**63 - 1,  # clients write with today's time
}


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> Contents:
    """What Kafka's clients read. The broker's clock continues from then: else groups and records would have expired."""
    recorded = msgspec.json.decode(CONTENTS.read_bytes(), type=Contents)
    newest_ms = max(record.timestamp[1] for each in recorded.partitions.values() for record in each.records)
    behind_ms = time.time_ns() // 1_000_000 - newest_ms
    monkeypatch.setattr(ClusterTime, "now_ms", lambda _: time.time_ns() // 1_000_000 - behind_ms)
    return recorded


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def test_everything_that_kafka_wrote_is_read_and_extended(directory: Path, contents: Contents) -> None:
    with Broker(directory=directory, config=_SETTINGS) as broker:
        assert_same(contents, read(broker.bootstrap_servers))
        Writer(broker.bootstrap_servers).extend(1)
        extended = read(broker.bootstrap_servers)
    assert not ran_kafka_last(RealFileSystem(), str(directory))
    with Broker(directory=directory, config=_SETTINGS) as broker:
        assert_same(extended, read(broker.bootstrap_servers))


def test_an_inspection_counts_what_carries_over_and_changes_nothing(
    directory: Path, contents: Contents
) -> None:
    before = _state(directory)
    found = inspect(RealFileSystem(), str(directory))
    assert found.refusals == ()
    assert found.stopped_cleanly
    assert found.carries_over["ACLs"] == len(contents.acls)
    assert found.carries_over["SCRAM credentials"] == sum(map(len, contents.credentials.values()))
    assert _state(directory) == before


def _state(directory: Path) -> dict[str, tuple[int, int, int]]:
    stats = {str(each): each.stat() for each in [directory, *directory.rglob("*")]}
    return {path: (each.st_mode, each.st_size, each.st_mtime_ns) for path, each in stats.items()}
