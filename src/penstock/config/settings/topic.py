"""Topic settings: those of Kafka 4.3 and two of Penstock's own, with the broker settings that hold their defaults."""

from penstock.config.property import LONG_MAX, Live, Value
from penstock.config.section import Section

SECTION = Section("Topic settings", live=Live.CLUSTER_WIDE)

DAY_MS = 86_400_000
COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")


def _gzip_level(_name: str, value: Value) -> str | None:
    good = isinstance(value, int) and (value == -1 or 1 <= value <= 9)
    return None if good else "Value must be between 1 and 9 or equal to -1"


def _throttled_replicas(_name: str, value: Value) -> str | None:
    items = value if isinstance(value, tuple) else ()
    if items == ("*",) or all(_is_replica(item) for item in items):
        return None
    return "Expected * or a list of partition:broker pairs such as 0:1,1:2"


def _is_replica(item: str) -> bool:
    partition, _, broker = item.partition(":")
    return partition.isdigit() and broker.isdigit()


CLEANUP_POLICY = SECTION.names(
    "cleanup.policy",
    ("delete",),
    "What happens to old segments: `delete` deletes them by age, size or number; `compact` keeps the last "
    "record of each key; both can be given. With neither, everything is kept.",
    choices=("compact", "delete"),
    synonyms=("log.cleanup.policy",),
)
COMPRESSION_TYPE = SECTION.string(
    "compression.type",
    "producer",
    "How batches are compressed on disk. `producer` keeps what the producer sent.",
    choices=COMPRESSION_TYPES,
    synonyms=("compression.type",),
)
COMPRESSION_GZIP_LEVEL = SECTION.integer(
    "compression.gzip.level",
    -1,
    "Compression level when `compression.type` is gzip; -1 is zlib's own default.",
    check=_gzip_level,
    synonyms=("compression.gzip.level",),
)
COMPRESSION_LZ4_LEVEL = SECTION.integer(
    "compression.lz4.level",
    9,
    "Compression level when `compression.type` is lz4.",
    at_least=1,
    at_most=17,
    synonyms=("compression.lz4.level",),
)
COMPRESSION_ZSTD_LEVEL = SECTION.integer(
    "compression.zstd.level",
    3,
    "Compression level when `compression.type` is zstd.",
    at_least=-131072,
    at_most=22,
    synonyms=("compression.zstd.level",),
)
DELETE_RETENTION_MS = SECTION.long(
    "delete.retention.ms",
    DAY_MS,
    "How long a compacted topic keeps a tombstone, so that a consumer that lags behind still sees the deletion.",
    at_least=0,
    synonyms=("log.cleaner.delete.retention.ms",),
)
FILE_DELETE_DELAY_MS = SECTION.long(
    "file.delete.delay.ms",
    60_000,
    "How long the files of a deleted segment stay on disk for readers that still have them open. Here they "
    "are removed at once; open files can still be read.",
    at_least=0,
    synonyms=("log.segment.delete.delay.ms",),
    ignored=True,
)
FLUSH_MESSAGES = SECTION.long(
    "flush.messages",
    1,
    "Sync to disk after this many records. Kafka's default is never, relying on replicas alone; here the "
    "default is 1, so that acknowledged records have been synced. One sync serves all writes that wait for "
    "it.",
    at_least=1,
    synonyms=("log.flush.interval.messages",),
)
FLUSH_MS = SECTION.long(
    "flush.ms",
    LONG_MAX,
    "Sync to disk at the latest this long after a record arrived, if `flush.messages` has not caused a sync "
    "before.",
    at_least=0,
    synonyms=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
)
FOLLOWER_REPLICATION_THROTTLED_REPLICAS = SECTION.names(
    "follower.replication.throttled.replicas",
    (),
    "Which replicas are throttled on the follower's side, as partition:broker pairs, or `*` for all.",
    check=_throttled_replicas,
)
INDEX_INTERVAL_BYTES = SECTION.integer(
    "index.interval.bytes",
    4096,
    "Bytes of log between two index entries: a lower value means faster seeks and a larger index.",
    at_least=0,
    synonyms=("log.index.interval.bytes",),
)
LEADER_REPLICATION_THROTTLED_REPLICAS = SECTION.names(
    "leader.replication.throttled.replicas",
    (),
    "Which replicas are throttled on the leader's side, as partition:broker pairs, or `*` for all.",
    check=_throttled_replicas,
)
LOCAL_RETENTION_BYTES = SECTION.long(
    "local.retention.bytes",
    -2,
    "Of a tiered topic, the bytes kept locally; -2 means `retention.bytes`. Tiered storage is not offered.",
    at_least=-2,
    synonyms=("log.local.retention.bytes",),
    ignored=True,
)
LOCAL_RETENTION_MS = SECTION.long(
    "local.retention.ms",
    -2,
    "Of a tiered topic, the time kept locally; -2 means `retention.ms`. Tiered storage is not offered.",
    at_least=-2,
    synonyms=("log.local.retention.ms",),
    ignored=True,
)
MAX_COMPACTION_LAG_MS = SECTION.long(
    "max.compaction.lag.ms",
    LONG_MAX,
    "A record is compacted at the latest this long after it was written, however little there is to gain.",
    at_least=1,
    synonyms=("log.cleaner.max.compaction.lag.ms",),
)
MAX_MESSAGE_BYTES = SECTION.integer(
    "max.message.bytes",
    1_048_588,
    "The largest record batch taken, after compression. Larger ones are refused with MESSAGE_TOO_LARGE.",
    at_least=0,
    synonyms=("message.max.bytes",),
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = SECTION.long(
    "message.timestamp.after.max.ms",
    3_600_000,
    "How far a producer's timestamp may lie ahead of the broker's clock.",
    at_least=0,
    synonyms=("log.message.timestamp.after.max.ms",),
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = SECTION.long(
    "message.timestamp.before.max.ms",
    LONG_MAX,
    "How far a producer's timestamp may lie behind the broker's clock.",
    at_least=0,
    synonyms=("log.message.timestamp.before.max.ms",),
)
MESSAGE_TIMESTAMP_TYPE = SECTION.string(
    "message.timestamp.type",
    "CreateTime",
    "Whose time a record carries: the producer's (`CreateTime`) or the broker's (`LogAppendTime`).",
    choices=TIMESTAMP_TYPES,
    synonyms=("log.message.timestamp.type",),
)
MIN_CLEANABLE_DIRTY_RATIO = SECTION.double(
    "min.cleanable.dirty.ratio",
    0.5,
    "The share of a compacted log that must be uncompacted before it is compacted again.",
    at_least=0,
    at_most=1,
    synonyms=("log.cleaner.min.cleanable.ratio",),
)
MIN_COMPACTION_LAG_MS = SECTION.long(
    "min.compaction.lag.ms",
    0,
    "A record stays uncompacted at least this long, so that a reader can see every value.",
    at_least=0,
    synonyms=("log.cleaner.min.compaction.lag.ms",),
)
MIN_INSYNC_REPLICAS = SECTION.integer(
    "min.insync.replicas",
    1,
    "How many replicas must be in sync for a write with acks=all to be accepted: all of them if a partition "
    "has fewer. "
    "A new cluster keeps the value of its first controller for all brokers (KIP-966), whatever their files "
    "say later: "
    "`penstock config set brokers min.insync.replicas=2` changes it.",
    at_least=1,
    synonyms=("min.insync.replicas",),
)
PREALLOCATE = SECTION.boolean(
    "preallocate",
    False,
    "Reserve a segment's full size on disk when it is made.",
    synonyms=("log.preallocate",),
)
REMOTE_LOG_COPY_DISABLE = SECTION.boolean(
    "remote.log.copy.disable",
    False,
    "Of a tiered topic: copy no more segments. Tiered storage is not offered.",
    ignored=True,
)
REMOTE_LOG_DELETE_ON_DISABLE = SECTION.boolean(
    "remote.log.delete.on.disable",
    False,
    "Of a tiered topic: delete the copies when tiering is disabled. Tiered storage is not offered.",
    ignored=True,
)
REMOTE_STORAGE_ENABLE = SECTION.boolean(
    "remote.storage.enable",
    False,
    "Tier the topic to remote storage. Not offered here: only `false` is taken.",
)
RETENTION_BYTES = SECTION.long(
    "retention.bytes",
    -1,
    "The size of a partition above which its oldest segments are deleted; -1: no limit.",
    synonyms=("log.retention.bytes",),
)
RETENTION_MS = SECTION.long(
    "retention.ms",
    7 * DAY_MS,
    "The age at which a segment is deleted, counted from its newest record; -1: no limit.",
    at_least=-1,
    synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
RETENTION_SEGMENTS = SECTION.long(
    "retention.segments",
    -1,
    "Penstock's own: how many closed segments each partition keeps besides the active one; -1: no limit.",
    at_least=-1,
    synonyms=("log.retention.segments",),
)
SEGMENT_BYTES = SECTION.integer(
    "segment.bytes",
    1_073_741_824,
    "The size at which a segment is closed and the next one is created. Kafka 4 requires at least 1 MiB; "
    "smaller sizes are accepted here, as in Kafka 3, for tests of retention and compaction.",
    at_least=14,
    synonyms=("log.segment.bytes",),
)
SEGMENT_INDEX_BYTES = SECTION.integer(
    "segment.index.bytes",
    10_485_760,
    "The maximum size of a segment's index; a full index closes the segment.",
    at_least=4,
    synonyms=("log.index.size.max.bytes",),
)
SEGMENT_JITTER_MS = SECTION.long(
    "segment.jitter.ms",
    0,
    "The maximum that is randomly subtracted from `segment.ms`, so that segments do not all roll at once.",
    at_least=0,
    synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
SEGMENT_MS = SECTION.long(
    "segment.ms",
    7 * DAY_MS,
    "The age at which a segment is closed even if it is not full.",
    at_least=1,
    synonyms=("log.roll.ms", "log.roll.hours"),
)
SEGMENT_RECORDS = SECTION.long(
    "segment.records",
    LONG_MAX,
    "Penstock's own: the number of records after which a segment is closed. A batch is never split over two "
    "segments.",
    at_least=1,
    synonyms=("log.segment.records",),
)
UNCLEAN_LEADER_ELECTION_ENABLE = SECTION.boolean(
    "unclean.leader.election.enable",
    False,
    "Whether a replica that is not in sync may become leader if no other is left: the partition is available "
    "again, but loses records.",
    synonyms=("unclean.leader.election.enable",),
)
