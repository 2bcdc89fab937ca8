"""What one task does about topics and records that brokers do not take."""

from pathlib import Path

import pytest

from penstock.client.blocking.client import BlockingClient
from penstock.spark.sink.errors import WriteRefused
from penstock.spark.sink.task import TaskWriter
from tests.spark.sink.live import batch_of, committed_rows, new_name, now_ms, sink_settings
from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker


def test_a_record_that_is_too_large_is_refused_with_the_setting_to_raise(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_name("small")
    settings = sink_settings(shared_broker.bootstrap, topic)
    cluster = BlockingClient(settings.client)
    cluster.create_topic(topic, partitions=1, configs={"max.message.bytes": "1000"})
    writer = TaskWriter(settings, cluster, now_ms=now_ms, transactional_id=None, first_partition=0)
    with pytest.raises(
        WriteRefused, match=rf"{topic}-0 were refused with MESSAGE_TOO_LARGE.*max\.message\.bytes"
    ):
        writer.write([batch_of([1], padding=2000)])
    cluster.close()


def test_a_topic_is_made_where_the_broker_makes_topics(shared_broker: BrokerProcess) -> None:
    topic = new_name("made")
    settings = sink_settings(shared_broker.bootstrap, topic)
    cluster = BlockingClient(settings.client)
    TaskWriter(settings, cluster, now_ms=now_ms, transactional_id=None, first_partition=0).write(
        [batch_of([7])]
    )
    cluster.close()
    assert committed_rows(shared_broker.bootstrap, topic) == [7]


def test_a_topic_that_is_not_created_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.sink.task._TOPIC_DEADLINE_MS", 300)
    with running_broker(tmp_path, {"auto.create.topics.enable": "false"}) as broker:
        settings = sink_settings(broker.bootstrap, "missing")
        cluster = BlockingClient(settings.client)
        writer = TaskWriter(settings, cluster, now_ms=now_ms, transactional_id=None, first_partition=0)
        with pytest.raises(WriteRefused, match="topic 'missing' cannot be written to: create it first"):
            writer.write([batch_of([7])])
        cluster.close()
