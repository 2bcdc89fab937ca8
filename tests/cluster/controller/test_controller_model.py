"""After any requests in any order the image is consistent, and a replay of the log gives the same image."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cluster.controller import Controller
from penstock.cluster.controller.alter_configs import Operation, ResourceChanges, SettingChange
from penstock.cluster.controller.create_partitions import NewPartitions
from penstock.cluster.controller.create_topics import NewTopic
from penstock.cluster.controller.delete_topics import TopicToDelete
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.config.broker import BrokerConfig
from penstock.config.live import LiveConfig
from tests.cluster.support import MemorySink, metadata_log, registration, start

NAMES = st.sampled_from(["a", "b.c", "b_c", "bad name", "__consumer_offsets"])
CREATE = st.builds(
    NewTopic, name=NAMES, num_partitions=st.integers(-2, 4), replication_factor=st.integers(-2, 4)
)
GROW = st.builds(NewPartitions, name=NAMES, count=st.integers(0, 6))
DELETE = st.builds(TopicToDelete, name=NAMES)
CHANGE = st.builds(
    SettingChange,
    st.sampled_from(["retention.ms", "cleanup.policy", "min.insync.replicas"]),
    st.sampled_from(Operation),
    st.sampled_from(["1", "compact", "delete,compact", ""]),
)
ALTER = st.builds(
    ResourceChanges,
    resource_type=st.just(ResourceType.TOPIC),
    resource_name=NAMES,
    changes=st.lists(CHANGE, min_size=1, max_size=2),
)
REGISTER = st.builds(registration, st.integers(1, 3))
STEPS = st.lists(
    st.one_of(st.lists(CREATE, min_size=1, max_size=3), GROW, DELETE, ALTER, REGISTER),
    min_size=1,
    max_size=12,
)


async def take(controller: Controller, step: Any) -> None:
    if isinstance(step, list):
        await controller.create_topics(step)
    elif isinstance(step, NewPartitions):
        await controller.create_partitions([step])
    elif isinstance(step, TopicToDelete):
        await controller.delete_topics([step])
    elif isinstance(step, ResourceChanges):
        await controller.incremental_alter_configs([step])
    else:
        await controller.register_broker(step, fenced=False)


def snapshot(image: MetadataImage) -> dict[str, object]:
    return {
        "topics": {name: (topic.topic_id, dict(topic.partitions)) for name, topic in image.topics.items()},
        "configs": image.configs,
        "brokers": image.brokers,
        "features": (image.features.finalized, image.features.epoch),
        "collisions": image.names_by_collision_key,
        "offset": image.offset,
    }


def check_consistent(image: MetadataImage) -> None:
    assert {topic.topic_id: topic for topic in image.topics.values()} == image.topics_by_id
    assert not {"b.c", "b_c"} <= set(image.topics)
    for topic in image.topics.values():
        assert list(topic.partitions) == list(range(len(topic.partitions)))
        for partition in topic.partitions.values():
            assert partition.leader in partition.isr
            assert set(partition.isr) <= set(partition.replicas) <= set(image.brokers)
            assert len(partition.replicas) == topic.replication_factor
            assert len(partition.directories) == len(partition.replicas)
    for kind, name in image.configs.keys() - {(ResourceType.BROKER, "")}:
        assert (kind, name in image.topics) == (ResourceType.TOPIC, True)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 2**32))
def test_a_replay_of_the_log_gives_the_same_consistent_image(steps: Sequence[Any], seed: int) -> None:
    async def scenario() -> None:
        sink = MemorySink()
        controller = Controller(metadata_log(sink, "c"), LiveConfig(BrokerConfig()), random.Random(seed))
        await start(controller, registration(1))
        for step in steps:
            # Two names that collide are refused only when one of them is there before, as in Kafka.
            for part in [[each] for each in step] if isinstance(step, list) else [step]:
                await take(controller, part)
                check_consistent(controller.image)
        again = AppliedMetadata(MetadataImage("c"))
        await sink.replay(again)
        assert snapshot(again.image) == snapshot(controller.image)

    asyncio.run(scenario())
