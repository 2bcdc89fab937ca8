import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from penstock.cluster.controller import Controller
from penstock.cluster.controller.alter_configs import Operation, ResourceChanges, SettingChange
from penstock.cluster.controller.create_partitions import NewPartitions
from penstock.cluster.controller.create_topics import NewTopic
from penstock.cluster.controller.decision import NotController
from penstock.cluster.controller.delete_topics import TopicToDelete
from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.metadata.records import encode_batch
from penstock.config.broker import BrokerConfig
from penstock.config.live import LiveConfig
from penstock.config.settings import network
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import BeginTransactionRecord, MetadataRecord, TopicRecord
from tests.cluster.support import MemorySink, metadata_log, registration, start


def controller_on(sink: MemorySink, config: BrokerConfig | None = None) -> Controller:
    return Controller(metadata_log(sink), LiveConfig(config or BrokerConfig()), random.Random(5))


async def restarted(sink: MemorySink) -> tuple[Controller, int]:
    """A controller that has replayed the log, and the epoch of its broker."""
    log = metadata_log(sink)
    controller = Controller(log, LiveConfig(BrokerConfig()), random.Random(5))
    await sink.replay(sink.applied)
    again = msgspec.structs.replace(registration(1), incarnation_id=b"again" + bytes(11))
    return controller, await start(controller, again)


def run(scenario: Callable[[Controller, MemorySink], Awaitable[None]]) -> None:
    async def started() -> None:
        sink = MemorySink()
        controller = controller_on(sink)
        await start(controller, registration(1))
        await scenario(controller, sink)

    asyncio.run(started())


def topic_settings(name: str, setting: str, value: str) -> ResourceChanges:
    change = SettingChange(setting, Operation.SET, value)
    return ResourceChanges(resource_type=ResourceType.TOPIC, resource_name=name, changes=[change])


def test_the_first_start_creates_a_cluster_and_registers_the_broker() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        image = controller.image
        assert image.features.finalized == {
            "metadata.version": 30,
            "transaction.version": 2,
            "group.version": 1,
            "eligible.leader.replicas.version": 1,
            "share.version": 1,
            "streams.version": 1,
        }
        assert image.cluster_settings() == {"min.insync.replicas": "1"}
        assert image.brokers[1].epoch == 7  # registered after the features and that setting
        assert controller.controller_id == 1

    run(scenario)


def test_a_restart_finds_topics_and_settings_and_leads_in_a_new_epoch() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        await controller.create_topics([NewTopic(name="t", configs=[("retention.ms", "5")])])
        again, epoch = await restarted(sink)
        assert epoch > controller.image.brokers[1].epoch
        assert again.image.features.finalized == controller.image.features.finalized
        assert again.topic_config("t").retention_ms == 5
        partition = again.image.partition("t", 0)
        assert partition is not None
        assert (partition.leader, partition.leader_epoch) == (1, 1)

    run(scenario)


def test_topics_are_created_extended_changed_and_deleted() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        (made,) = await controller.create_topics([NewTopic(name="t")])
        await controller.create_partitions([NewPartitions(name="t", count=3)])
        await controller.incremental_alter_configs([topic_settings("t", "segment.records", "10")])
        topic = controller.image.topic("t")
        assert topic is not None
        assert len(topic.partitions) == 3
        assert controller.topic_config("t").segment_records == 10
        await controller.alter_configs([topic_settings("t", "retention.ms", "9")])
        assert controller.image.topic_settings("t") == {"retention.ms": "9"}
        (deleted,) = await controller.delete_topics([TopicToDelete(topic_id=made.topic_id)])
        assert (deleted.name, deleted.error) == ("t", ErrorCode.NONE)
        assert controller.image.topics == {}

    run(scenario)


def test_a_request_that_only_validates_answers_the_same_and_writes_nothing() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        written = len(sink.stored)
        (made,) = await controller.create_topics([NewTopic(name="t", num_partitions=2)], validate_only=True)
        assert (made.error, made.num_partitions) == (ErrorCode.NONE, 2)
        await controller.create_topics([NewTopic(name="u")])
        await controller.create_partitions([NewPartitions(name="u", count=2)], validate_only=True)
        await controller.incremental_alter_configs(
            [topic_settings("u", "retention.ms", "1")], validate_only=True
        )
        await controller.alter_configs([topic_settings("u", "retention.ms", "1")], validate_only=True)
        assert list(controller.image.topics) == ["u"]
        assert len(sink.stored) == written + 1

    run(scenario)


def test_one_of_two_concurrent_creations_of_a_topic_fails_because_it_exists() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        outcomes = await asyncio.gather(*(controller.auto_create_topic("t") for _ in range(2)))
        assert [each.error for each in outcomes] == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]

    run(scenario)


def test_a_change_is_committed_even_if_its_caller_is_cancelled() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        sink.appending.clear()
        sink.gate = asyncio.get_running_loop().create_future()
        caller = asyncio.create_task(controller.create_topics([NewTopic(name="t")]))
        await sink.appending.wait()
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        sink.gate.set_result(None)
        await controller.create_topics([NewTopic(name="u")])
        assert list(controller.image.topics) == ["t", "u"]
        assert controller.image.offset == sink.next_offset - 1

    run(scenario)


def test_a_dynamic_broker_setting_applies_at_once_and_after_a_restart() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        for name, value in (("", "5"), ("1", "6")):
            change = SettingChange("max.connections", Operation.SET, value)
            await controller.incremental_alter_configs(
                [ResourceChanges(resource_type=ResourceType.BROKER, resource_name=name, changes=[change])]
            )
            assert controller.config[network.MAX_CONNECTIONS] == int(value)
        again, _ = await restarted(sink)
        assert again.config[network.MAX_CONNECTIONS] == 6

    run(scenario)


def test_a_dynamic_default_applies_to_topics() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        await controller.create_topics([NewTopic(name="t")])
        change = SettingChange("log.retention.ms", Operation.SET, "77")
        await controller.incremental_alter_configs(
            [ResourceChanges(resource_type=ResourceType.BROKER, resource_name="", changes=[change])]
        )
        assert controller.topic_config("t").retention_ms == 77

    run(scenario)


def test_producer_ids_are_never_allocated_twice_not_even_across_a_restart() -> None:
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        first = await controller.allocate_producer_ids(1, controller.image.brokers[1].epoch)
        again, epoch = await restarted(sink)
        second = await again.allocate_producer_ids(1, epoch)
        assert (first.first_id, second.first_id) == (0, 1000)

    run(scenario)


def test_a_node_that_is_not_the_active_controller_decides_nothing() -> None:
    """Not even refusals: its metadata may be out of date (simulation, cluster seed 454)."""

    async def scenario(controller: Controller, sink: MemorySink) -> None:
        sink.is_active = False
        before = sink.next_offset
        with pytest.raises(NotController):
            await controller.delete_topics([TopicToDelete(name="unknown")])
        assert sink.next_offset == before

    run(scenario)


def test_a_metadata_transaction_that_another_controller_left_open_is_aborted_before_the_first_change() -> (
    None
):
    async def scenario(controller: Controller, sink: MemorySink) -> None:
        left_open: list[MetadataRecord] = [
            BeginTransactionRecord(name="n"),
            TopicRecord(name="half", topic_id=b"h" * 16),
        ]
        await sink.append(encode_batch(left_open, 0, 30))
        await controller.create_topics([NewTopic(name="t")])
        assert list(controller.image.topics) == ["t"]
        assert controller.image.open_transaction is None

    run(scenario)
