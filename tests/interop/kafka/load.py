"""Clients that use a cluster while its nodes change, and that check at the end what became of their records.

Producers number their records, so that a loss, a duplicate and a wrong order all show. A pause is the longest time
between two successes of one client.
"""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, Message, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli.connect.requests import RequestClient
from penstock.cluster.metadata.image import ResourceType as ConfigKind
from penstock.protocol.messages import incremental_alter_configs

LOAD: Final = "load"
COPIES: Final = "copies"
_POLL_S: Final = 0.1
_PATIENCE_S: Final = 90.0
_ADMIN_S: Final = 10.0
_PRODUCE_EVERY_S: Final = 0.01
_TRANSACTION_MS: Final = 60_000  # longer than a broker may be gone until it is fenced
_TRANSACTION_RECORDS: Final = 200  # so that it catches up after a pause
_LOOP_GROUP: Final = "loop-group"
_STOP: Final = b"stop"


class Pause:
    """The longest time without a success, of any partition."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._last: dict[int, float] = {}

    def success(self, partition: int = 0) -> None:
        now = time.monotonic()
        self.longest_s = max(self.longest_s, now - self._last.get(partition, now))
        self._last[partition] = now

    def is_over(self, since_s: float) -> bool:
        """Whether every partition has had a success after a moment of the monotonic clock."""
        return all(last > since_s for last in self._last.values())


class _Client(threading.Thread):
    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.pause = Pause()
        self.failures: list[str] = []
        self._is_stopping = threading.Event()

    def run(self) -> None:
        try:
            self.work()
        except Exception as error:  # shown by the test
            self.failures.append(repr(error))

    def work(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self._is_stopping.set()

    def on_error(self, error: KafkaError) -> None:
        """Libraries report what they retry by themselves too; only a fatal error ends a client."""
        if error.fatal():
            self.failures.append(str(error))


class NumberedProducer(_Client):
    """An idempotent producer: partition p gets 0, 1, 2, …"""

    def __init__(self, bootstrap: str, partitions: int, every_s: float) -> None:
        super().__init__("producer")
        self._every_s = every_s
        self._partitions = partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "delivery.timeout.ms": 120_000,
                "error_cb": self.on_error,
                "log_level": 0,
            }
        )
        self.sent = [0] * partitions
        self.acknowledged = 0

    def work(self) -> None:
        while not self._is_stopping.wait(self._every_s):
            for partition in range(self._partitions):
                self._send(partition, b"%d" % self.sent[partition])
                self.sent[partition] += 1
            self._producer.poll(0)
        for partition in range(self._partitions):
            self._send(partition, _STOP)
        if left := self._producer.flush(_PATIENCE_S):
            self.failures.append(f"{left} records were not acknowledged")

    def _send(self, partition: int, value: bytes) -> None:
        self._producer.produce(LOAD, value, partition=partition, on_delivery=self._delivered)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        self.acknowledged += 1
        self.pause.success(message.partition())


class GroupMember(_Client):
    """A member of a classic or KIP-848 group; it commits every second."""

    def __init__(self, bootstrap: str, protocol: str) -> None:
        super().__init__(f"{protocol} group")
        self.group_id = f"{protocol}-group"
        self._settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": self.group_id,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1000,
            "topic.metadata.refresh.interval.ms": 2000,
            "error_cb": self.on_error,
            "log_level": 0,
        }
        self.positions: dict[int, int] = {}

    def work(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe([LOAD])
        try:
            while not self._is_stopping.is_set():
                for message in consumer.consume(500, _POLL_S):
                    if message.error() is None:
                        self._take(message)
        finally:
            consumer.close()

    def _take(self, message: Message) -> None:
        expected = self.positions.get(message.partition(), 0)
        if message.offset() > expected:
            self.failures.append(f"{LOAD}-{message.partition()}: {message.offset()} follows {expected}")
        self.positions[message.partition()] = max(expected, message.offset() + 1)
        self.pause.success(message.partition())


class ShareMember(_Client):
    """A share group of one member. It may get a record twice, and must get every one."""

    def __init__(self, bootstrap: str, group_id: str = "share-group") -> None:
        super().__init__("share group")
        self.group_id = group_id
        self._servers = bootstrap
        self.taken: dict[int, set[int]] = {}

    def work(self) -> None:
        consumer = ShareConsumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": self.group_id,
                "error_cb": self.on_error,
                "log_level": 0,
            }
        )
        consumer.subscribe([LOAD])
        try:
            while not self._is_stopping.is_set():
                for message in consumer.poll(_POLL_S):
                    if message.error() is None:
                        self.taken.setdefault(message.partition(), set()).add(message.offset())
                        self.pause.success(message.partition())
        finally:
            consumer.close()


class AdminChanges(_Client):
    """Creates a topic, changes and deletes it, again and again."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__("admin changes")
        self._servers = bootstrap
        self.rounds = 0

    def work(self) -> None:
        while not self._is_stopping.wait(1.0):
            self._until_done(partial(_create, f"made-{self.rounds}"))
            self._until_done(partial(_delete, f"made-{self.rounds}"))
            self.rounds += 1
            self.pause.success()

    def _until_done(self, request: Callable[[AdminClient], dict[str, Any]]) -> None:
        """A request that was cut off may have been done: its repetition then finds it done.

        Each has a new client, as an administrator's: librdkafka stays with the broker that it first took for the
        controller, for minutes after that is gone.
        """
        deadline = time.monotonic() + _PATIENCE_S
        done = (KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.UNKNOWN_TOPIC_OR_PART)
        while True:
            try:
                admin = AdminClient(
                    {"bootstrap.servers": self._servers, "log_level": 0, "error_cb": self.on_error}
                )
                for future in request(admin).values():
                    future.result(_ADMIN_S)
            except Exception as error:
                code = error.args[0].code() if error.args and isinstance(error.args[0], KafkaError) else None
                if code in done:
                    return
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_S)
            else:
                return


def _create(topic: str, admin: AdminClient) -> dict[str, Any]:
    return dict(admin.create_topics([NewTopic(topic, 2, 3)]))


def _delete(topic: str, admin: AdminClient) -> dict[str, Any]:
    return dict(admin.delete_topics([topic]))


def _read_from_the_start(bootstrap: str, share_group: str) -> None:
    """A share group has its own setting for that, and starts at the end by default."""
    setting = incremental_alter_configs.AlterableConfig(name="share.auto.offset.reset", value="earliest")
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=ConfigKind.GROUP, resource_name=share_group, configs=[setting]
    )
    with RequestClient(bootstrap) as client:
        answer = client.ask(incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource]))
    assert not answer.responses[0].error_code, answer


class Load:
    """All clients together, and a transactional loop in a process of its own that copies `load` to `copies`."""

    def __init__(
        self,
        directory: Path,
        bootstrap: str,
        partitions: int,
        produce_every_s: float = _PRODUCE_EVERY_S,
        *,
        has_share_group: bool = True,
    ) -> None:
        """Each partition gets a record after `produce_every_s`. Kafka has share groups since 4.2."""
        self._servers = bootstrap
        self._partitions = partitions
        self.producer = NumberedProducer(bootstrap, partitions, produce_every_s)
        self.classic = GroupMember(bootstrap, "classic")
        self.consumer = GroupMember(bootstrap, "consumer")
        self.share = ShareMember(bootstrap) if has_share_group else None
        self.admin = AdminChanges(bootstrap)
        self.clients: list[_Client] = [self.producer, self.classic, self.consumer, self.admin]
        if self.share is not None:
            _read_from_the_start(bootstrap, self.share.group_id)
            self.clients.append(self.share)
        self._loop_output = directory / "loop.log"
        with self._loop_output.open("wb") as output:
            self._loop = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.interop.transform_loop"),
                    *(bootstrap, LOAD, COPIES, _LOOP_GROUP, "loop", str(_TRANSACTION_MS)),
                    str(_TRANSACTION_RECORDS),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        for each in self.clients:
            each.start()

    def await_progress(self, records: int = 100) -> None:
        """Wait until every client has had a success, and `records` more are acknowledged."""
        wanted = self.producer.acknowledged + records
        self._await(
            lambda: (
                self.producer.acknowledged >= wanted
                and len(self.classic.positions) == self._partitions
                and len(self.consumer.positions) == self._partitions
                and (self.share is None or len(self.share.taken) > 0)
            ),
            "progress",
        )

    def _await(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not holds():
            assert not self.failures, self.failures
            assert time.monotonic() < deadline, f"no {what} in {_PATIENCE_S} s: {self.describe()}"
            time.sleep(_POLL_S)

    @property
    def failures(self) -> list[str]:
        found = [f"{each.name}: {failure}" for each in self.clients for failure in each.failures]
        if self._loop.poll() not in (None, 0):
            found.append(f"transactional loop: {self._loop_output.read_text()}")
        return found

    def describe(self) -> str:
        taken = {} if self.share is None else self.share.taken
        return (
            f"sent {self.producer.sent}, acknowledged {self.producer.acknowledged}, classic {self.classic.positions}, "
            f"consumer {self.consumer.positions}, share { ({p: len(found) for p, found in taken.items()}) }, "
            f"admin {self.admin.rounds}"
        )

    def pauses(self) -> dict[str, float]:
        return {each.name: round(each.pause.longest_s, 1) for each in self.clients}

    def measure_pauses(self, disturb: Callable[[], None]) -> dict[str, float]:
        """The longest pause of each client from a disturbance until each goes on with every partition."""
        for each in self.clients:
            each.pause.longest_s = 0.0
        began = time.monotonic()
        disturb()
        self._await(lambda: all(each.pause.is_over(began) for each in self.clients), "end of the pauses")
        return self.pauses()

    def finish(self) -> None:
        """End the load, wait until every group has every record, and check what is stored."""
        self.admin.stop()
        self.producer.stop()
        self.producer.join(_PATIENCE_S + 10)
        ends = {partition: count + 1 for partition, count in enumerate(self.producer.sent)}
        self._await(
            lambda: self.classic.positions == ends and self.consumer.positions == ends, "end of the groups"
        )
        everything = {partition: set(range(end)) for partition, end in ends.items()}
        self._await(lambda: self.share is None or self.share.taken == everything, "end of the share group")
        self._await_loop()
        for each in self.clients:
            each.stop()
        for each in self.clients:
            each.join(_PATIENCE_S)
        assert not self.failures, self.failures
        numbers = [[b"%d" % number for number in range(count)] for count in self.producer.sent]
        assert self._read(LOAD, ends) == [[*each, _STOP] for each in numbers]
        assert self._read(COPIES, None) == numbers

    def _await_loop(self) -> None:
        """Wait until the loop has ended, as long as it makes progress: it may be far behind on a busy machine."""
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": _LOOP_GROUP, "log_level": 0})
        partitions = [TopicPartition(LOAD, each) for each in range(self._partitions)]
        committed = -1
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._loop.wait(_PATIENCE_S)
                    return
                before = committed
                committed = sum(each.offset for each in consumer.committed(partitions, _ADMIN_S))
                assert committed > before, f"the transactional loop stopped at {committed}: {self.failures}"
        finally:
            consumer.close()

    def _read(self, topic: str, ends: dict[int, int] | None) -> list[list[bytes]]:
        """The values of each partition, up to its end for read_committed."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        values: list[list[bytes]] = [[] for _ in range(self._partitions)]
        try:
            consumer.assign([TopicPartition(topic, each, 0) for each in range(self._partitions)])
            at_end: set[int] = set()
            deadline = time.monotonic() + _PATIENCE_S
            while len(at_end) < self._partitions:
                assert time.monotonic() < deadline, f"{topic} could not be read to its end"
                for message in consumer.consume(1000, _POLL_S):
                    if message.error() is None:
                        values[message.partition()].append(message.value())
                    elif message.error().code() == KafkaError._PARTITION_EOF:
                        at_end.add(message.partition())
        finally:
            consumer.close()
        return values

    def close(self) -> None:
        for each in self.clients:
            each.stop()
        if self._loop.poll() is None:
            self._loop.kill()
        self._loop.wait()
        with contextlib.suppress(RuntimeError):
            for each in self.clients:
                each.join(10)
