"""Broker settings of logs: directories, defaults of topics, flushing, retention and compaction."""

from penstock.config import disk_reserve
from penstock.config.property import LONG_MAX, Live
from penstock.config.section import Section
from penstock.config.settings import topic

HOUR_MS = 3_600_000

SECTION = Section("Logs")

LOG_DIRS = SECTION.optional_names(
    "log.dirs", "The directories that hold the logs, comma-separated. Unset, `log.dir` is used."
)
LOG_DIR = SECTION.names("log.dir", ("penstock-data",), "The directory that holds the logs.")
DISK_RESERVE_BYTES = SECTION.long(
    disk_reserve.NAME,
    disk_reserve.AUTOMATIC,
    "The disk space reserved for offsets, transactions, metadata and a clean shutdown: with less free, clients' "
    "records are rejected with KAFKA_STORAGE_ERROR until space is freed. -1 reserves 5 %, at most 64 MiB; "
    "0 reserves nothing.",
    at_least=disk_reserve.AUTOMATIC,
    live=Live.PER_BROKER,
)
JOURNAL_BYTES = SECTION.long(
    "penstock.journal.bytes",
    64 << 20,
    "The largest size of the journal, which makes small appends to all partitions durable with one sync. 0 disables "
    "it: each partition is synced separately.",
    at_least=0,
)

TOPIC_DEFAULTS = Section("Defaults of topic settings", live=Live.CLUSTER_WIDE)

_SCALED = {
    "log.retention.ms",
    "log.retention.minutes",
    "log.retention.hours",
    "log.roll.ms",
    "log.roll.hours",
    "log.roll.jitter.ms",
    "log.roll.jitter.hours",
    "log.flush.interval.ms",
    "log.flush.scheduler.interval.ms",
}
for _topic in topic.SECTION.properties:
    for _name in _topic.synonyms:
        if _name not in _SCALED:
            TOPIC_DEFAULTS.default_of(_topic, _name)

LOG_RETENTION_MS = TOPIC_DEFAULTS.optional_long(
    "log.retention.ms",
    "The age at which segments are dropped, for topics without `retention.ms`; -1 sets no limit. Unset, "
    "`log.retention.minutes` is used.",
)
LOG_RETENTION_MINUTES = TOPIC_DEFAULTS.optional_integer(
    "log.retention.minutes",
    "Like `log.retention.ms`, in minutes. Unset, `log.retention.hours` is used.",
    scale=60_000,
    live=Live.READ_ONLY,
)
LOG_RETENTION_HOURS = TOPIC_DEFAULTS.integer(
    "log.retention.hours",
    168,
    "Like `log.retention.ms`, in hours.",
    scale=HOUR_MS,
    live=Live.READ_ONLY,
)
LOG_ROLL_MS = TOPIC_DEFAULTS.optional_long(
    "log.roll.ms",
    "The age at which a segment is closed, for topics without `segment.ms`. Unset, `log.roll.hours` is used.",
)
LOG_ROLL_HOURS = TOPIC_DEFAULTS.integer(
    "log.roll.hours", 168, "Like `log.roll.ms`, in hours.", at_least=1, scale=HOUR_MS, live=Live.READ_ONLY
)
LOG_ROLL_JITTER_MS = TOPIC_DEFAULTS.optional_long(
    "log.roll.jitter.ms",
    "The most taken off a segment's age, for topics without `segment.jitter.ms`. Unset, "
    "`log.roll.jitter.hours` is used.",
)
LOG_ROLL_JITTER_HOURS = TOPIC_DEFAULTS.integer(
    "log.roll.jitter.hours",
    0,
    "Like `log.roll.jitter.ms`, in hours.",
    at_least=0,
    scale=HOUR_MS,
    live=Live.READ_ONLY,
)
LOG_FLUSH_INTERVAL_MS = TOPIC_DEFAULTS.optional_long(
    "log.flush.interval.ms",
    "The latest time of a sync after a record arrived, for topics without `flush.ms`. Unset, "
    "`log.flush.scheduler.interval.ms` is used.",
)
LOG_FLUSH_SCHEDULER_INTERVAL_MS = TOPIC_DEFAULTS.long(
    "log.flush.scheduler.interval.ms",
    LONG_MAX,
    "How often it is checked whether a log is due for a sync by time.",
    live=Live.READ_ONLY,
)

MAINTENANCE = Section("Log maintenance")

LOG_RETENTION_CHECK_INTERVAL_MS = MAINTENANCE.long(
    "log.retention.check.interval.ms", 300_000, "How often retention deletes old segments.", at_least=1
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = MAINTENANCE.integer(
    "log.flush.offset.checkpoint.interval.ms",
    60_000,
    "How often recovery points are checkpointed.",
    at_least=0,
)
LOG_CLEANER_ENABLE = MAINTENANCE.boolean(
    "log.cleaner.enable", True, "Whether compacted topics are compacted."
)
LOG_CLEANER_THREADS = MAINTENANCE.integer(
    "log.cleaner.threads",
    1,
    "How many logs are compacted at once, each by a process of its own.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
LOG_CLEANER_IO_MAX_BYTES_PER_SECOND = MAINTENANCE.double(
    "log.cleaner.io.max.bytes.per.second",
    1.7976931348623157e308,
    "The bytes per second that compaction may read and write together; a change also applies to a running pass.",
    live=Live.CLUSTER_WIDE,
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = MAINTENANCE.long(
    "log.cleaner.dedupe.buffer.size",
    134_217_728,
    "Memory for the maps from key to last offset of all logs that are compacted at once.",
    live=Live.CLUSTER_WIDE,
)
LOG_CLEANER_BACKOFF_MS = MAINTENANCE.long(
    "log.cleaner.backoff.ms",
    15_000,
    "How long the cleaner sleeps when no log needs compaction.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
PRODUCER_ID_EXPIRATION_MS = MAINTENANCE.integer(
    "producer.id.expiration.ms",
    86_400_000,
    "How long a partition keeps the state of an idle idempotent producer.",
    at_least=1,
    live=Live.CLUSTER_WIDE,
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = MAINTENANCE.integer(
    "producer.id.expiration.check.interval.ms",
    600_000,
    "How often expired producers are removed.",
    at_least=1,
)
LOG_SCRUB_INTERVAL_MS = MAINTENANCE.long(
    "penstock.log.scrub.interval.ms",
    604_800_000,
    "The time between two scrubs, which verify the checksums of all records on disk; 0 never. The first scrub begins "
    "at most ten minutes after the start. A change applies at once.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)

SECTIONS = (SECTION, TOPIC_DEFAULTS, MAINTENANCE)
