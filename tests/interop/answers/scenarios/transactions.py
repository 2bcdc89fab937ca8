"""InitProducerId and every step of a transaction, with wrong ids, epochs and partitions."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic

TOPIC = "transacted"


def ask_all(asker: Asker) -> None:
    make_topic(asker, TOPIC, 2)
    for version in range(6):
        _ids(asker, version)
    for version in range(6):
        _Transaction(asker, version).ask_all()
    _operators(asker)


def _init(asker: Asker, label: str, version: int, transactional_id: str | None, **fields: Any) -> Any:
    fields.setdefault("transaction_timeout_ms", 60_000)
    return asker.ask(label, "InitProducerId", version, transactional_id=transactional_id, **fields)


def _ids(asker: Asker, version: int) -> None:
    _init(asker, "idempotent", version, None)
    _init(asker, "empty id", version, "")
    for timeout_ms in (-1, 0, 10**9):
        _init(asker, f"timeout {timeout_ms}", version, "refused", transaction_timeout_ms=timeout_ms)
    if version >= 3:
        _init(asker, "idempotent goes on", version, None, producer_id=5, producer_epoch=1)
        _init(asker, "no epoch", version, "refused", producer_id=5)
        _init(asker, "no id", version, "refused", producer_epoch=5)


class _Transaction:
    def __init__(self, asker: Asker, version: int) -> None:
        self.asker = asker
        self.version = version
        self.name = f"transaction {version}"
        first = _init(asker, "transactional", version, self.name)
        again = _init(asker, "transactional again", version, self.name)
        self.producer_id, self.epoch = again["producer_id"], again["producer_epoch"]
        assert first["producer_id"] == self.producer_id

    def ask_all(self) -> None:
        if self.version >= 3:
            self._go_on()
        for version in sorted({min(self.version, 3), 3, 4, 5}):
            self._add_wrongly(version)
        add = min(self.version, 3)
        self.add("first", add, [0])
        self.add("again", add, [0])
        self.verify("open", [0, 1])
        self.asker.ask(f"of {self.name}", "DescribeTransactions", 0, transactional_ids=[self.name])
        for label, changes in self._mistakes().items():
            self.end(f"{label} of {self.name}", commit=True, **changes)
            offsets = {"group_id": "transacting", **self._me(changes)}
            self.asker.ask(f"{label} of {self.name}", "AddOffsetsToTxn", min(self.version, 4), **offsets)
        self._commit_offsets()
        self._finish()

    def _me(self, changes: dict[str, Any]) -> dict[str, Any]:
        return {
            "transactional_id": self.name,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            **changes,
        }

    def _mistakes(self) -> dict[str, dict[str, Any]]:
        return {
            "greater epoch": {"producer_epoch": self.epoch + 1},
            "lesser epoch": {"producer_epoch": self.epoch - 1},
            "other producer": {"producer_id": self.producer_id + 1000},
            "unknown id": {"transactional_id": "nobody"},
            "empty id": {"transactional_id": ""},
        }

    def _go_on(self) -> None:
        me = {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        known = _init(self.asker, "goes on", self.version, self.name, **me)
        self.epoch = known["producer_epoch"]
        other = {"producer_id": self.producer_id + 1000, "producer_epoch": self.epoch}
        _init(self.asker, "goes on as another", self.version, self.name, **other)

    def add(self, label: str, version: int, partitions: list[int], **changes: Any) -> None:
        self._ask_to_add(label, version, [{"name": TOPIC, "partitions": partitions}], changes)

    def verify(self, label: str, partitions: list[int]) -> None:
        topics = [{"name": TOPIC, "partitions": partitions}]
        one = {**self._me({}), "verify_only": True, "topics": topics}
        self.asker.ask(f"{label} of {self.name}", "AddPartitionsToTxn", 4, transactions=[one])

    def _ask_to_add(
        self, label: str, version: int, topics: list[dict[str, Any]], changes: dict[str, Any]
    ) -> None:
        me = self._me(changes)
        if version < 4:
            fields = {f"v3_and_below_{name}": value for name, value in me.items()}
            fields["v3_and_below_topics"] = topics
        else:
            fields = {"transactions": [{**me, "topics": topics}]}
        self.asker.ask(f"{label} of {self.name}", "AddPartitionsToTxn", version, **fields)

    def _add_wrongly(self, version: int) -> None:
        for label, changes in self._mistakes().items():
            self.add(label, version, [0], **changes)
        self.add("unknown partition", version, [9, 0])
        unknown = {"name": "nobody", "partitions": [0]}
        self._ask_to_add("unknown topic", version, [unknown, {"name": TOPIC, "partitions": [0]}], {})

    def end(self, label: str, *, commit: bool, **changes: Any) -> Any:
        fields = {**self._me(changes), "committed": commit}
        return self.asker.ask(label, "EndTxn", min(self.version, 5), **fields)

    def _commit_offsets(self) -> None:
        version = min(self.version, 5)
        group = {"group_id": "transacting"}
        self.asker.ask(f"of {self.name}", "AddOffsetsToTxn", min(version, 4), **self._me({}), **group)

        def commit(label: str, topic: str = TOPIC, partition: int = 0, **changes: Any) -> None:
            part = {"partition_index": partition, "committed_offset": 7, "committed_metadata": "m"}
            fields = {**self._me({}), **group, **changes}
            topics = [{"name": topic, "partitions": [part]}]
            self.asker.ask(f"{label} of {self.name}", "TxnOffsetCommit", version, topics=topics, **fields)

        commit("good")
        commit("unknown topic", topic="nobody")
        commit("unknown partition", partition=9)
        commit("unnamed group", group_id="")
        commit("greater epoch", producer_epoch=self.epoch + 9)
        if version >= 3:
            commit("of a generation", generation_id=4, member_id="who")
        for stable in (True, False):
            wanted = [{"name": TOPIC, "partition_indexes": [0]}]
            self.asker.ask(
                f"{self.name} pending, stable {stable}",
                "OffsetFetch",
                7,
                **group,
                require_stable=stable,
                topics=wanted,
            )

    def _finish(self) -> None:
        self.end(f"commit of {self.name}", commit=True)
        self.end(f"commit again of {self.name}", commit=True)
        self.end(f"abort after the commit of {self.name}", commit=False)
        wanted = [{"name": TOPIC, "partition_indexes": [0]}]
        stable = {"group_id": "transacting", "require_stable": True, "topics": wanted}
        self.asker.ask(f"{self.name} done", "OffsetFetch", 7, **stable)
        self.asker.ask(f"of {self.name} done", "DescribeTransactions", 0, transactional_ids=[self.name])


def _operators(asker: Asker) -> None:
    asker.ask("unknown", "DescribeTransactions", 0, transactional_ids=["nobody", ""])
    asker.ask("in a state", "ListTransactions", 0, state_filters=["Ongoing"])
    asker.ask("in no state", "ListTransactions", 0, state_filters=["Nothing"])
    asker.ask("by id", "ListTransactions", 2, transactional_id_pattern="nobody.*")
    asker.ask("by a bad pattern", "ListTransactions", 2, transactional_id_pattern="(")
    topics = [
        {"name": TOPIC, "partition_indexes": [1, 9]},
        {"name": "nobody", "partition_indexes": [0]},
    ]
    asker.ask("some", "DescribeProducers", 0, topics=topics)
