"""A topic's settings as one typed value: field names are Kafka's, with underscores for dots."""

import msgspec

LONG_MAX = 2**63 - 1


class TopicConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a log, its cleaner and the produce path need to know about one topic."""

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    flush_messages: int = 1  # Kafka's default is never; here what is acknowledged is synced
    flush_ms: int = LONG_MAX
    follower_replication_throttled_replicas: frozenset[str] = frozenset()
    index_interval_bytes: int = 4096
    leader_replication_throttled_replicas: frozenset[str] = frozenset()
    max_compaction_lag_ms: int = LONG_MAX
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    retention_segments: int = -1  # Penstock's own: how many closed segments to keep
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    segment_records: int = LONG_MAX  # Penstock's own: roll after this many records
    unclean_leader_election_enable: bool = False
