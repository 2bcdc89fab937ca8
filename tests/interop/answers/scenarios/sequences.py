"""Producers with ids: sequences, retries, epochs; open, committed and aborted transactions as readers see them."""

import time
from typing import Any

from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.builder import NewRecord, build_batch
from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import FIRST_MS, make_topic

_MARKED_WITHIN_S = 10


def ask_all(asker: Asker) -> None:
    _sequences(asker)
    for version in (9, 11, 12):
        _transactions(asker, version)


class _Producer:
    """Sends batches with an id, an epoch and a sequence."""

    def __init__(self, asker: Asker, topic: str, transactional_id: str | None = None) -> None:
        self.asker = asker
        self.topic = topic
        self.transactional_id = transactional_id
        self.renew()

    def renew(self) -> None:
        fields = {"transactional_id": self.transactional_id, "transaction_timeout_ms": 60_000}
        made = self.asker.quietly("InitProducerId", 4, **fields)
        assert made["error_code"] == 0, made
        self.producer_id, self.epoch = made["producer_id"], made["producer_epoch"]

    def send(
        self,
        label: str,
        sequence: int,
        *,
        count: int = 2,
        epoch: int | None = None,
        version: int = 9,
        **more: Any,
    ) -> None:
        batch = build_batch(
            [NewRecord(value=b"v", timestamp=FIRST_MS) for _ in range(count)],
            producer_id=more.get("producer_id", self.producer_id),
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=sequence,
            is_transactional=more.get("is_transactional", self.transactional_id is not None),
        )
        data = [{"name": self.topic, "partition_data": [{"index": 0, "records": batch}]}]
        fields = {"transactional_id": self.transactional_id, "acks": -1, "timeout_ms": 5000}
        self.asker.ask(f"{self.topic}: {label}", "Produce", version, topic_data=data, **fields)

    def end(self, *, commit: bool) -> None:
        me = {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        fields = {"transactional_id": self.transactional_id, "committed": commit, **me}
        self.asker.ask(f"{self.topic}: commit {commit} at {self.epoch}", "EndTxn", 4, **fields)
        until = time.monotonic() + _MARKED_WITHIN_S
        while time.monotonic() < until and not self._is_complete():
            time.sleep(0.02)

    def _is_complete(self) -> bool:
        wanted = [self.transactional_id]
        described = self.asker.quietly("DescribeTransactions", 0, transactional_ids=wanted)
        state: str = described["transaction_states"][0]["transaction_state"]
        return state.startswith("Complete")

    def add(self) -> None:
        me = {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        one = {"transactional_id": self.transactional_id, **me}
        fields = {f"v3_and_below_{name}": value for name, value in one.items()}
        topics = [{"name": self.topic, "partitions": [0]}]
        self.asker.quietly("AddPartitionsToTxn", 3, v3_and_below_topics=topics, **fields)


def _sequences(asker: Asker) -> None:
    topic = "sequenced"
    make_topic(asker, topic)
    producer = _Producer(asker, topic)
    producer.send("first", 0)
    producer.send("the same again", 0)
    producer.send("a gap", 4)
    producer.send("the second", 2)
    producer.send("a part of the second", 2, count=1)
    producer.send("across both", 1)
    for number in range(2, 8):
        producer.send(f"batch {number}", 2 * number)
    producer.send("the oldest of five again", 6)
    producer.send("one of long ago again", 0)
    producer.send("a greater epoch in the middle", 16, epoch=1)
    producer.send("a greater epoch from its start", 0, epoch=1)
    producer.send("a lesser epoch", 16, epoch=0)
    producer.send("a greater epoch goes on", 2, epoch=1)
    producer.send("an unknown id in the middle", 5, producer_id=producer.producer_id + 500)
    producer.send("a transaction without its id", 4, epoch=1, is_transactional=True)
    producer.send("no sequence", -1, epoch=1)
    wrapping = _Producer(asker, topic)
    wrapping.send("near the last sequence", 2**31 - 2, count=4)
    wrapping.send("beyond the last sequence", 2)
    _read(asker, topic, 0)


def _transactions(asker: Asker, version: int) -> None:
    topic = f"isolated-{version}"
    make_topic(asker, topic)
    producer = _Producer(asker, topic, f"isolated {version}")
    adds = version < 12
    if adds:
        producer.send("not added", 0, version=version)
        producer.add()
    producer.send("opens", 0, version=version)
    _read(asker, topic, 1)
    producer.send("goes on", 2, version=version)
    producer.send("the same again", 2, version=version)
    producer.send("a gap", 9, version=version)
    producer.send("a greater epoch", 0, epoch=producer.epoch + 1, version=version)
    producer.end(commit=True)
    _read(asker, topic, 2)
    producer.renew()
    if adds:
        producer.add()
    producer.send("opens another", 0, version=version)
    producer.send("of the epoch before", 0, epoch=producer.epoch - 1, version=version)
    producer.end(commit=False)
    _read(asker, topic, 3)
    plain = _Producer(asker, topic)
    plain.send("outside of transactions", 0)
    _read(asker, topic, 4)


def _read(asker: Asker, topic: str, moment: int) -> None:
    """The records that readers of either isolation level see, with the batches in a comparable form."""
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    for isolation in (0, 1):
        answer = asker.quietly(
            "Fetch",
            11,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=isolation,
            topics=[{"topic": topic, "partitions": [part]}],
        )
        for each in answer["responses"][0]["partitions"]:
            each["records"] = [
                f"{batch.base_offset}+{batch.last_offset_delta} attributes {batch.attributes} "
                f"epoch {batch.producer_epoch} sequence {batch.base_sequence}"
                for _, batch in iter_batches(bytes.fromhex(each["records"]))
            ]
        asker.note(f"Fetch v11 {topic} at {moment}, isolation {isolation}", answer)
        asked = [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]
        fields = {"replica_id": -1, "isolation_level": isolation, "topics": asked}
        asker.ask(f"{topic} at {moment}, isolation {isolation}", "ListOffsets", 7, **fields)
    wanted = [{"name": topic, "partition_indexes": [0]}]
    asker.ask(f"{topic} at {moment}", "DescribeProducers", 0, topics=wanted)
