"""Settings of a single group (resource type GROUP, KIP-848 and KIP-932), with the broker settings behind them."""

from penstock.config.offset_reset import check_offset_reset
from penstock.config.property import Live
from penstock.config.theme import Theme

THEME = Theme("Group settings", live=Live.CLUSTER_WIDE)

CONSUMER_SESSION_TIMEOUT_MS = THEME.integer(
    "consumer.session.timeout.ms",
    45_000,
    "How long a member may be silent before it is removed.",
    at_least=1,
    synonyms=("group.consumer.session.timeout.ms",),
)
CONSUMER_HEARTBEAT_INTERVAL_MS = THEME.integer(
    "consumer.heartbeat.interval.ms",
    5000,
    "How often a member reports.",
    at_least=1,
    synonyms=("group.consumer.heartbeat.interval.ms",),
)
CONSUMER_ASSIGNMENT_INTERVAL_MS = THEME.integer(
    "consumer.assignment.interval.ms",
    1000,
    "How long the group rests between two computations of its assignment.",
    at_least=0,
    synonyms=("group.consumer.assignment.interval.ms",),
)
SHARE_SESSION_TIMEOUT_MS = THEME.integer(
    "share.session.timeout.ms",
    45_000,
    "How long a member of a share group may be silent before it is removed.",
    at_least=1,
    synonyms=("group.share.session.timeout.ms",),
)
SHARE_HEARTBEAT_INTERVAL_MS = THEME.integer(
    "share.heartbeat.interval.ms",
    5000,
    "How often a member of a share group reports.",
    at_least=1,
    synonyms=("group.share.heartbeat.interval.ms",),
)
SHARE_RECORD_LOCK_DURATION_MS = THEME.integer(
    "share.record.lock.duration.ms",
    30_000,
    "How long a member has to acknowledge a record before others get it.",
    at_least=1000,
    synonyms=("group.share.record.lock.duration.ms",),
)
SHARE_AUTO_OFFSET_RESET = THEME.string(
    "share.auto.offset.reset",
    "latest",
    "Where a share group starts: `earliest`, `latest`, or `by_duration:` and an ISO 8601 duration.",
    check=check_offset_reset,
)
SHARE_ISOLATION_LEVEL = THEME.string(
    "share.isolation.level",
    "read_uncommitted",
    "Whether a share group sees records of open and aborted transactions.",
    choices=("read_committed", "read_uncommitted"),
)
SHARE_RENEW_ACKNOWLEDGE_ENABLE = THEME.boolean(
    "share.renew.acknowledge.enable",
    True,
    "Whether a member may renew its lock on a record instead of acknowledging it (KIP-1222).",
)
SHARE_ASSIGNMENT_INTERVAL_MS = THEME.integer(
    "share.assignment.interval.ms",
    1000,
    "How long a share group rests between two computations of its assignment.",
    at_least=0,
    synonyms=("group.share.assignment.interval.ms",),
)
SHARE_DELIVERY_COUNT_LIMIT = THEME.integer(
    "share.delivery.count.limit",
    5,
    "How often a record is delivered before it is given up (KIP-1240).",
    at_least=2,
    synonyms=("group.share.delivery.count.limit",),
)
SHARE_PARTITION_MAX_RECORD_LOCKS = THEME.integer(
    "share.partition.max.record.locks",
    2000,
    "How many records of a partition may be out for delivery at once (KIP-1240).",
    at_least=100,
    synonyms=("group.share.partition.max.record.locks",),
)
