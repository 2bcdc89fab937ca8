"""Ranges of offsets read from a real broker, without Spark."""

import logging
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from penstock.arrow.decoder import SCHEMA, SCHEMA_WITH_HEADERS
from penstock.arrow.ranges import DataLoss, OffsetRange
from penstock.arrow.read import fetch_range, read_range
from penstock.client.blocking.client import BlockingClient
from penstock.client.errors import BrokerError, TimedOut
from penstock.client.metadata import TopicPartition
from penstock.protocol.errors import ErrorCode
from penstock.protocol.headers import RequestHeader
from penstock.protocol.messages import api_versions, fetch, metadata
from penstock.protocol.records.builder import BatchBuilder
from penstock.protocol.records.errors import CorruptRecords
from tests.client.blocking.serving import ALL_VERSIONS, serving
from tests.spark.source.topics import cluster_of, delete_records, delete_topic, new_topic, produce, transact
from tests.support.broker import BrokerProcess


def read(
    cluster: BlockingClient, topic: str, start: int, end: int, *, fails: bool = True, headers: bool = False
) -> list[pa.RecordBatch]:
    wanted = OffsetRange(topic=topic, partition=0, start=start, end=end)
    return list(
        read_range(
            cluster, wanted, schema=SCHEMA_WITH_HEADERS if headers else SCHEMA, fails_on_data_loss=fails
        )
    )


def column(batches: list[pa.RecordBatch], name: str) -> list[object]:
    return [value for batch in batches for value in batch.column(name).to_pylist()]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_from_the_middle_of_a_batch_to_the_middle_of_another(
    shared_broker: BrokerProcess, codec: str
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    values = [b"value %d" % number * 10 for number in range(1000)]
    produce(shared_broker.bootstrap, topic, values, compression_type=codec, batch_size=5000)
    cluster = cluster_of(shared_broker.bootstrap)
    batches = read(cluster, topic, 13, 987)
    assert column(batches, "value") == values[13:987]
    assert column(batches, "offset") == list(range(13, 987))


def test_small_answers_are_fetched_one_after_the_other_without_a_gap(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b"%d" % n for n in range(500)], batch_num_messages=10)
    cluster = cluster_of(shared_broker.bootstrap, max_partition_fetch_bytes="1")
    wanted = OffsetRange(topic=topic, partition=0, start=0, end=500)
    assert len(list(fetch_range(cluster, wanted, fails_on_data_loss=True))) >= 20
    assert column(read(cluster, topic, 0, 500), "offset") == list(range(500))


def test_a_record_larger_than_a_fetch_is_read(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap, max_message_bytes="3000000")
    large = bytes(range(256)) * 4096
    produce(shared_broker.bootstrap, topic, [b"s", large, None], message_max_bytes=3_000_000)
    cluster = cluster_of(shared_broker.bootstrap, max_partition_fetch_bytes="1000")
    assert column(read(cluster, topic, 0, 3), "value") == [b"s", large, None]


def test_only_a_reader_of_everything_sees_what_was_aborted(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap)
    transact(shared_broker.bootstrap, topic, [b"c1", b"c2"], commits=True, name="x")
    transact(shared_broker.bootstrap, topic, [b"a1", b"a2"], commits=False, name="y")
    transact(shared_broker.bootstrap, topic, [b"c3"], commits=True, name="x")
    everything = cluster_of(shared_broker.bootstrap)
    committed = cluster_of(shared_broker.bootstrap, isolation_level="read_committed")
    # three markers stand between and behind the five records
    assert column(read(everything, topic, 0, 8), "value") == [b"c1", b"c2", b"a1", b"a2", b"c3"]
    assert column(read(committed, topic, 0, 8), "value") == [b"c1", b"c2", b"c3"]
    assert column(read(committed, topic, 4, 8), "value") == [b"c3"]


def test_a_range_that_ends_with_a_marker_ends(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap)
    transact(shared_broker.bootstrap, topic, [b"a"], commits=False)
    committed = cluster_of(shared_broker.bootstrap, isolation_level="read_committed")
    assert read(committed, topic, 0, 2) == []


def test_deleted_records_stop_the_reading_or_are_passed_over(
    shared_broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b"%d" % n for n in range(20)])
    delete_records(shared_broker.bootstrap, topic, before=12)
    cluster = cluster_of(shared_broker.bootstrap)
    with pytest.raises(
        DataLoss, match=rf"{topic}-0 no longer has offset 5: it starts at 12 .*failOnDataLoss"
    ):
        read(cluster, topic, 5, 20)
    with caplog.at_level(logging.WARNING):
        assert column(read(cluster, topic, 5, 15, fails=False), "offset") == [12, 13, 14]
        assert read(cluster, topic, 0, 10, fails=False) == []
    assert f"partition={topic}-0 from_offset=5 to_offset=12" in caplog.text


def test_an_end_that_is_never_reached_is_given_up_with_the_reason(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b"a"])
    cluster = cluster_of(shared_broker.bootstrap, default_api_timeout_ms="300", fetch_max_wait_ms="10")
    with pytest.raises(
        TimedOut, match=rf"{topic}-0 has no records at offset 1, but should have them up to 2"
    ):
        read(cluster, topic, 0, 2)
    assert column(read(cluster, topic, 0, 2, fails=False), "value") == [b"a"]


def test_a_deleted_topic_is_a_loss(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b"a"])
    cluster = cluster_of(shared_broker.bootstrap, retry_backoff_ms="1", retry_backoff_max_ms="1")
    cluster.leader(TopicPartition(topic, 0))
    delete_topic(shared_broker.bootstrap, topic)
    with pytest.raises(DataLoss, match=f"{topic}-0 does not exist"):
        read(cluster, topic, 0, 1)
    assert read(cluster, topic, 0, 1, fails=False) == []


class FetchModel:
    """A broker with one partition, whose answers to Fetch are given in turn."""

    def __init__(self, answers: list[fetch.PartitionData | None]) -> None:
        self.answers = answers
        self.asked: list[int] = []
        self.port = 0

    def answer(self, header: RequestHeader, body: Any) -> Any:
        if header.api_key == api_versions.API_KEY:
            return ALL_VERSIONS
        if header.api_key == metadata.API_KEY:
            partition = metadata.MetadataResponsePartition(partition_index=0, leader_id=1)
            broker = metadata.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)
            topic = metadata.MetadataResponseTopic(name="t", partitions=[partition])
            return metadata.MetadataResponse(brokers=[broker], topics=[topic])
        self.asked.append(body.topics[0].partitions[0].fetch_offset)
        data = self.answers.pop(0) if self.answers else None
        if data is None:
            return None
        return fetch.FetchResponse(responses=[fetch.FetchableTopicResponse(partitions=[data])])

    def read(self, end: int, *, fails: bool = True, timeout_ms: str = "2000") -> list[object]:
        with serving(self.answer) as (host, self.port):
            cluster = cluster_of(
                f"{host}:{self.port}", retry_backoff_ms="1", default_api_timeout_ms=timeout_ms
            )
            return column(read(cluster, "t", 0, end, fails=fails), "offset")


def records(*offsets: int) -> fetch.PartitionData:
    builder = BatchBuilder(offsets[0])
    for offset in offsets:
        builder.append(None, b"v", timestamp=0, offset=offset)
    return fetch.PartitionData(records=builder.build(), high_watermark=100)


NOTHING = fetch.PartitionData(records=b"", high_watermark=100)


def test_the_next_fetch_is_asked_for_before_the_last_one_is_decoded_and_none_after_the_end() -> None:
    model = FetchModel([records(0, 1), records(5), records(6, 8)])
    assert model.read(8) == [0, 1, 5, 6]
    assert model.asked == [0, 2, 6]


def test_after_a_broken_connection_reading_goes_on_behind_what_was_received() -> None:
    model = FetchModel([records(0, 1), None, records(2), None, None, records(3)])
    assert model.read(4) == [0, 1, 2, 3]


def test_a_moved_leader_and_a_short_silence_are_ridden_out() -> None:
    moved = fetch.PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    model = FetchModel([records(0), moved, NOTHING, NOTHING, records(1)])
    assert model.read(2) == [0, 1]


def test_when_compaction_left_nothing_of_the_last_stretch_the_range_is_complete() -> None:
    assert FetchModel([records(0), NOTHING, NOTHING, NOTHING]).read(50) == [0]


def test_a_broker_that_stays_away_is_an_error_even_where_losses_are_not() -> None:
    with pytest.raises(TimedOut, match="lost the connection"):
        FetchModel([records(0)]).read(9, fails=False, timeout_ms="50")


def test_an_error_that_does_not_pass_is_raised_with_its_name() -> None:
    model = FetchModel([fetch.PartitionData(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)])
    with pytest.raises(
        BrokerError, match="reading t-0 at offset 0 was answered with TOPIC_AUTHORIZATION_FAILED"
    ):
        model.read(1)


def test_damaged_records_are_reported_with_their_offset() -> None:
    damaged = bytearray(records(0, 1).records or b"")
    damaged[-1] ^= 1
    model = FetchModel([fetch.PartitionData(records=bytes(damaged), high_watermark=2), NOTHING])
    with pytest.raises(CorruptRecords, match=r"t-0 cannot be read from offset 0 on: .*checksum"):
        model.read(9)


def test_the_modules_that_read_do_not_need_pyspark() -> None:
    modules = "batch, positions, spec, stream"
    code = (
        "import sys; sys.modules['pyspark'] = None; import penstock.arrow.read; "
        f"from penstock.spark.source import {modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_broker_that_is_killed_while_a_range_is_read_costs_nothing_and_doubles_nothing(
    own_broker: BrokerProcess,
) -> None:
    topic = new_topic(own_broker.bootstrap)
    produce(own_broker.bootstrap, topic, [b"%d" % n * 50 for n in range(5000)], batch_num_messages=100)
    cluster = cluster_of(own_broker.bootstrap, max_partition_fetch_bytes="20000")
    wanted = OffsetRange(topic=topic, partition=0, start=0, end=5000)
    offsets: list[object] = []
    kills = 0
    for batch in read_range(cluster, wanted, fails_on_data_loss=True):
        offsets += batch.column("offset").to_pylist()
        if len(offsets) > 1500 * (kills + 1) and kills < 2:
            kills += 1
            own_broker.kill()
            own_broker.start()
    assert kills == 2
    assert offsets == list(range(5000))
