"""Topics and records that scenarios ask about."""

import time
from typing import Any

from penstock.protocol.records.builder import NewRecord, build_batch
from tests.interop.answers.asking import Asker

FIRST_MS = 1_700_000_000_000
NO_ID = "00" * 16


def make_topic(asker: Asker, name: str, partitions: int = 1, **configs: str) -> bytes:
    """Create it, wait until it can be used, and return its id."""
    wanted: dict[str, Any] = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    wanted["configs"] = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    made = asker.quietly("CreateTopics", 7, timeout_ms=10_000, topics=[wanted])
    assert made["topics"][0]["error_code"] == 0, made
    until = time.monotonic() + 10
    while time.monotonic() < until:
        topic = asker.quietly("Metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False)
        known = topic["topics"][0]["partitions"]
        if len(known) == partitions and all(each["error_code"] == 0 for each in known):
            break
        time.sleep(0.05)
    return bytes.fromhex(made["topics"][0]["topic_id"])


def records(count: int = 1, *, first_ms: int = FIRST_MS, key: bytes | None = b"k", size: int = 1) -> bytes:
    return build_batch(
        [NewRecord(key=key, value=b"v" * size, timestamp=first_ms + 10 * number) for number in range(count)]
    )


def fill(asker: Asker, topic: str, count: int = 10) -> None:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records(count)}]}]
    written = asker.quietly("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data)
    assert written["responses"][0]["partition_responses"][0]["error_code"] == 0, written
