"""The sink's options, and what is refused."""

import pytest

from penstock.protocol.compression import Codec
from penstock.spark.options import OptionError, Options
from penstock.spark.sink.settings import SinkSettings

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}


def read(**options: str) -> SinkSettings:
    return SinkSettings.from_options(
        Options({**SERVERS, **{name.replace("_", "."): v for name, v in options.items()}})
    )


def test_delivery_is_exactly_once_unless_asked_otherwise() -> None:
    assert read().is_exactly_once
    assert read(delivery="Exactly-Once").is_exactly_once
    assert not read(delivery="at-least-once").is_exactly_once


def test_options_of_kafkas_producer_are_understood() -> None:
    settings = read(
        topic="t",
        kafka_compression_type="zstd",
        kafka_compression_zstd_level="9",
        kafka_batch_size="1000",
        kafka_transaction_timeout_ms="60000",
    )
    assert (settings.topic, settings.codec, settings.level) == ("t", Codec.ZSTD, 9)
    assert (settings.batch_bytes, settings.transaction_timeout_ms) == (1000, 60_000)
    assert read().transaction_timeout_ms is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delivery": "exactly-twice"}, "option delivery must be exactly-once or at-least-once"),
        ({"kafka_compression_type": "rar"}, "kafka.compression.type must be one of none, uncompressed, gzip"),
        ({"kafka_transactional_id": "x"}, "kafka.transactional.id is not supported"),
        ({"kafka_acks": "0"}, "kafka.acks is not supported: the sink always waits"),
        ({"kafka_batch_size": "0"}, "kafka.batch.size must be at least 1"),
    ],
)
def test_what_would_break_a_promise_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read(**options)
