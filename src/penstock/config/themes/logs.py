"""Broker settings about logs: where they lie, what topics take by default, flushing and cleaning."""

from penstock.config import disk_reserve
from penstock.config.property import LONG_MAX, Live
from penstock.config.theme import Theme
from penstock.config.themes import topic

HOUR_MS = 3_600_000

THEME = Theme("Logs")

LOG_DIRS = THEME.optional_names(
    "log.dirs", "The directories that hold the logs, comma-separated. Unset, `log.dir` is used."
)
LOG_DIR = THEME.names("log.dir", ("penstock-data",), "The directory that holds the logs.")
NUM_RECOVERY_THREADS_PER_DATA_DIR = THEME.integer(
    "num.recovery.threads.per.data.dir",
    2,
    "How many logs of one directory are recovered at once after a crash.",
    at_least=1,
    live=Live.CLUSTER_WIDE,
    ignored=True,
)
DISK_RESERVE_BYTES = THEME.long(
    disk_reserve.NAME,
    disk_reserve.AUTOMATIC,
    "How much of the disk is kept free for offsets, transactions, metadata and a clean stop: with less free, clients' "
    "records are refused with KAFKA_STORAGE_ERROR until space is freed. -1 takes 5 % of the disk, at most 64 MiB; 0 "
    "keeps nothing.",
    at_least=disk_reserve.AUTOMATIC,
    live=Live.PER_BROKER,
)
JOURNAL_BYTES = THEME.long(
    "penstock.journal.bytes",
    64 << 20,
    "How large the journal may become, in which small appends to all partitions are made durable with one sync. 0 does "
    "without it: each partition is synced by itself.",
    at_least=0,
)
LOG_DIR_FAILURE_TIMEOUT_MS = THEME.long(
    "log.dir.failure.timeout.ms",
    30_000,
    "How long a broker with a failed directory waits to tell the controller before it stops.",
    at_least=1,
    ignored=True,
)

TOPIC_DEFAULTS = Theme("Defaults of topic settings", live=Live.CLUSTER_WIDE)

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
for _topic in topic.THEME.properties:
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

UPKEEP = Theme("Log upkeep")

LOG_RETENTION_CHECK_INTERVAL_MS = UPKEEP.long(
    "log.retention.check.interval.ms", 300_000, "How often logs are swept for segments to drop.", at_least=1
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = UPKEEP.integer(
    "log.flush.offset.checkpoint.interval.ms",
    60_000,
    "How often the point from which recovery starts is written down.",
    at_least=0,
)
LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS = UPKEEP.integer(
    "log.flush.start.offset.checkpoint.interval.ms",
    60_000,
    "How often the first readable offset of each log is written down.",
    at_least=0,
    ignored=True,
)
LOG_INITIAL_TASK_DELAY_MS = UPKEEP.long(
    "log.initial.task.delay.ms",
    30_000,
    "How long after the start the first sweep waits.",
    at_least=0,
    ignored=True,
)
LOG_CLEANER_ENABLE = UPKEEP.boolean("log.cleaner.enable", True, "Whether compacted topics are compacted.")
LOG_CLEANER_THREADS = UPKEEP.integer(
    "log.cleaner.threads",
    1,
    "How many logs are compacted at once, each by a process of its own.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
LOG_CLEANER_IO_MAX_BYTES_PER_SECOND = UPKEEP.double(
    "log.cleaner.io.max.bytes.per.second",
    1.7976931348623157e308,
    "The rate of reading and writing together that compaction keeps below; a change applies to a pass that is running.",
    live=Live.CLUSTER_WIDE,
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = UPKEEP.long(
    "log.cleaner.dedupe.buffer.size",
    134_217_728,
    "Memory for the maps from key to last offset of all logs that are compacted at once.",
    live=Live.CLUSTER_WIDE,
)
LOG_CLEANER_IO_BUFFER_SIZE = UPKEEP.integer(
    "log.cleaner.io.buffer.size",
    524_288,
    "Memory for the buffers that compaction reads and writes through.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
    ignored=True,
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = UPKEEP.double(
    "log.cleaner.io.buffer.load.factor",
    0.9,
    "How full the map from key to offset may get before a pass ends.",
    live=Live.CLUSTER_WIDE,
    ignored=True,
)
LOG_CLEANER_BACKOFF_MS = UPKEEP.long(
    "log.cleaner.backoff.ms",
    15_000,
    "How long the cleaner rests when no log needs it.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
PRODUCER_ID_EXPIRATION_MS = UPKEEP.integer(
    "producer.id.expiration.ms",
    86_400_000,
    "How long a partition remembers an idempotent producer that has gone quiet.",
    at_least=1,
    live=Live.CLUSTER_WIDE,
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = UPKEEP.integer(
    "producer.id.expiration.check.interval.ms",
    600_000,
    "How often quiet producers are looked for.",
    at_least=1,
)
LOG_SCRUB_INTERVAL_MS = UPKEEP.long(
    "penstock.log.scrub.interval.ms",
    604_800_000,
    "How long after one pass over all records, which looks for bytes that have rotted on the disk, the next begins; 0 "
    "never. The first begins ten minutes after the start at the latest. A change applies at once.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)

THEMES = (THEME, TOPIC_DEFAULTS, UPKEEP)
