"""Consumed offsets as a consumer group's."""

import uuid

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client.settings import ClientSettings
from penstock.spark.pipeline.progress.group_offsets import OffsetPublisher
from tests.support.broker import BrokerProcess, free_port


def test_what_was_published_last_is_what_the_group_has_committed(shared_broker: BrokerProcess) -> None:
    topic, group = f"t-{uuid.uuid4().hex[:8]}", f"penstock-pipeline.{uuid.uuid4().hex[:8]}.out"
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
    reported: list[str] = []
    publisher = OffsetPublisher(settings_for(shared_broker.bootstrap), reported.append)
    publisher.publish({group: {topic: {0: 1}}})
    publisher.publish({group: {topic: {0: 5, 1: 7}, "gone": {0: 1}}})
    publisher.close()
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    found = {each.partition: each.offset for each in future.result(30).topic_partitions}
    assert (found, reported) == ({0: 5, 1: 7}, [])


def test_a_broker_that_is_not_there_does_not_hold_up_the_end() -> None:
    publisher = OffsetPublisher(settings_for(f"127.0.0.1:{free_port()}"), lambda _: None)
    publisher.publish({"g": {"t": {0: 1}}})
    publisher.close()


def settings_for(bootstrap: str) -> ClientSettings:
    return ClientSettings.from_properties({"bootstrap.servers": bootstrap})
