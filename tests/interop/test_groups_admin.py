"""Groups are listed, described and changed with other admin clients."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, Protocol

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import TopicPartition as PythonPartition
from kafka.admin import KafkaAdminClient, MemberToRemove
from kafka.structs import OffsetAndMetadata

from tests.support.broker import BrokerProcess

TIMEOUT_S = 30.0
_numbers = itertools.count()


class Operator(Protocol):
    def groups(self) -> set[str]: ...

    def state_and_member_count(self, group: str) -> tuple[str, int]: ...

    def offsets(self, group: str, topic: str) -> dict[int, int]: ...


class ConfluentOperator:
    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def groups(self) -> set[str]:
        return {each.group_id for each in self._admin.list_consumer_groups().result(TIMEOUT_S).valid}

    def state_and_member_count(self, group: str) -> tuple[str, int]:
        found = self._admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
        return found.state.name.replace("_", "").lower(), len(found.members)

    def offsets(self, group: str, topic: str) -> dict[int, int]:
        wanted = [ConsumerGroupTopicPartitions(group)]
        found = self._admin.list_consumer_group_offsets(wanted)[group].result(TIMEOUT_S)
        return {p.partition: p.offset for p in found.topic_partitions if p.topic == topic}


class KafkaPythonOperator:
    def __init__(self, bootstrap: str) -> None:
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def groups(self) -> set[str]:
        return {each["group_id"] for each in self._admin.list_groups()}

    def state_and_member_count(self, group: str) -> tuple[str, int]:
        found = self._admin.describe_groups([group])[group]
        return found["group_state"].lower(), len(found["members"])

    def offsets(self, group: str, topic: str) -> dict[int, int]:
        found = self._admin.list_group_offsets(group)[group]
        return {p.partition: o.offset for p, o in found.items() if p.topic == topic}


class AioKafkaOperator:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def groups(self) -> set[str]:
        return {name for name, _ in self._call("list_consumer_groups")}

    def state_and_member_count(self, group: str) -> tuple[str, int]:
        (response,) = self._call("describe_consumer_groups", [group])
        described = response.groups[0]
        return described[2].lower(), len(described[5])

    def offsets(self, group: str, topic: str) -> dict[int, int]:
        found = self._call("list_consumer_group_offsets", group)
        return {p.partition: o.offset for p, o in found.items() if p.topic == topic}

    def _call(self, method: str, *arguments: Any) -> Any:
        async def call() -> Any:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                return await asyncio.wait_for(getattr(admin, method)(*arguments), TIMEOUT_S)
            finally:
                await admin.close()

        return asyncio.run(call())


OPERATORS: dict[str, Callable[[str], Operator]] = {
    "confluent-kafka": ConfluentOperator,
    "kafka-python": KafkaPythonOperator,
    "aiokafka": AioKafkaOperator,
}
with_each_operator = pytest.mark.parametrize("operator", OPERATORS)


class Scene:
    """A topic with ten records in each of two partitions, and a group that reads it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.group = f"operated-{next(_numbers)}"
        self._bootstrap = bootstrap
        producer = Producer({"bootstrap.servers": bootstrap})
        for number in range(20):
            producer.produce(topic, str(number).encode(), partition=number % 2)
        assert producer.flush(TIMEOUT_S) == 0

    def read_all(self) -> Consumer:
        """A member that has read and committed everything, and stays."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": self.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([self.topic])
        count = 0
        while count < 20:
            record = consumer.poll(TIMEOUT_S)
            assert record is not None
            assert record.error() is None, record.error()
            count += 1
        consumer.commit(asynchronous=False)
        return consumer


@pytest.fixture
def scene(shared_broker: BrokerProcess, new_topic: Callable[..., str]) -> Scene:
    return Scene(shared_broker.bootstrap, new_topic(2))


@with_each_operator
def test_a_group_is_listed_described_and_its_offsets_shown(
    operator: str, scene: Scene, shared_broker: BrokerProcess
) -> None:
    subject = OPERATORS[operator](shared_broker.bootstrap)
    member = scene.read_all()

    assert scene.group in subject.groups()
    assert subject.state_and_member_count(scene.group) == ("stable", 1)
    assert subject.offsets(scene.group, scene.topic) == {0: 10, 1: 10}

    member.close()
    assert subject.state_and_member_count(scene.group) == ("empty", 0)


def test_confluent_moves_a_groups_offsets_once_its_members_have_left(
    scene: Scene, shared_broker: BrokerProcess
) -> None:
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    wanted = ConsumerGroupTopicPartitions(
        scene.group, [TopicPartition(scene.topic, 0, 3), TopicPartition(scene.topic, 1, 4)]
    )
    member = scene.read_all()
    with pytest.raises(KafkaException):
        _check(admin.alter_consumer_group_offsets([wanted])[scene.group].result(TIMEOUT_S))

    member.close()
    _check(admin.alter_consumer_group_offsets([wanted])[scene.group].result(TIMEOUT_S))

    assert ConfluentOperator(shared_broker.bootstrap).offsets(scene.group, scene.topic) == {0: 3, 1: 4}


def test_confluent_deletes_a_group_once_its_members_have_left(
    scene: Scene, shared_broker: BrokerProcess
) -> None:
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    member = scene.read_all()
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([scene.group])[scene.group].result(TIMEOUT_S)

    member.close()
    admin.delete_consumer_groups([scene.group])[scene.group].result(TIMEOUT_S)

    assert scene.group not in ConfluentOperator(shared_broker.bootstrap).groups()


def test_kafka_python_alters_and_deletes_offsets_and_the_group(
    scene: Scene, shared_broker: BrokerProcess
) -> None:
    admin = KafkaAdminClient(bootstrap_servers=shared_broker.bootstrap)
    scene.read_all().close()
    partition = PythonPartition(scene.topic, 0)
    admin.alter_group_offsets(scene.group, {partition: OffsetAndMetadata(5, "", -1)})
    operator = KafkaPythonOperator(shared_broker.bootstrap)
    assert operator.offsets(scene.group, scene.topic) == {0: 5, 1: 10}

    admin.delete_group_offsets(scene.group, [partition])
    assert operator.offsets(scene.group, scene.topic) == {1: 10}

    admin.delete_groups([scene.group])
    assert scene.group not in operator.groups()


def test_kafka_python_removes_a_member_by_its_instance_id(scene: Scene, shared_broker: BrokerProcess) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": shared_broker.bootstrap,
            "group.id": scene.group,
            "group.instance.id": "shelf-3",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([scene.topic])
    assert consumer.poll(TIMEOUT_S) is not None
    consumer.close()  # a static member does not leave by itself
    operator = KafkaPythonOperator(shared_broker.bootstrap)
    assert operator.state_and_member_count(scene.group) == ("stable", 1)

    admin = KafkaAdminClient(bootstrap_servers=shared_broker.bootstrap)
    admin.remove_group_members(scene.group, [MemberToRemove(group_instance_id="shelf-3")])

    assert operator.state_and_member_count(scene.group) == ("empty", 0)


def _check(altered: Any) -> None:
    for partition in altered.topic_partitions:
        if partition.error is not None:
            raise KafkaException(partition.error)
