import pytest

from penstock.config.topic import TopicConfig
from penstock.protocol.compression import Codec
from penstock.protocol.records.rules import (
    ValidationRules,
    rules_for,
)


def test_the_rules_are_read_from_the_topics_settings() -> None:
    config = TopicConfig(
        cleanup_policy=frozenset({"compact", "delete"}),
        compression_type="zstd",
        compression_zstd_level=7,
        max_message_bytes=1000,
        message_timestamp_after_max_ms=5,
        message_timestamp_before_max_ms=6,
        message_timestamp_type="LogAppendTime",
        segment_bytes=2000,
    )
    assert rules_for(config) == ValidationRules(
        size_bytes_max=1000,
        segment_bytes_max=2000,
        is_compacted=True,
        is_log_append_time=True,
        timestamp_before_max_ms=6,
        timestamp_after_max_ms=5,
        codec=Codec.ZSTD,
        level=7,
        decompressed_bytes_max=32 << 20,
    )
    assert rules_for(TopicConfig()).codec is None
    assert rules_for(TopicConfig(compression_type="uncompressed")).codec is Codec.NONE


@pytest.mark.parametrize(
    ("size_bytes_max", "decompressed_bytes_max"),
    [(1000, 32 << 20), (2 << 20, 64 << 20), (100 << 20, 128 << 20), (200 << 20, 200 << 20)],
)
def test_the_decompression_bound_grows_with_the_message_size_limit(
    size_bytes_max: int, decompressed_bytes_max: int
) -> None:
    rules = rules_for(TopicConfig(max_message_bytes=size_bytes_max))
    assert rules.decompressed_bytes_max == decompressed_bytes_max
