"""Settings of a single group (resource type GROUP, KIP-848 and KIP-932), with their broker settings."""

from penstock.config.offset_reset import check_offset_reset
from penstock.config.property import Live
from penstock.config.section import Section
from penstock.config.settings import coordinators

SECTION = Section("Group settings", live=Live.CLUSTER_WIDE)

CONSUMER_SESSION_TIMEOUT_MS = SECTION.of_group(coordinators.CONSUMER_SESSION_TIMEOUT)
CONSUMER_HEARTBEAT_INTERVAL_MS = SECTION.of_group(coordinators.CONSUMER_HEARTBEAT_INTERVAL)
CONSUMER_ASSIGNMENT_INTERVAL_MS = SECTION.of_group(coordinators.CONSUMER_ASSIGNMENT_INTERVAL)
SHARE_SESSION_TIMEOUT_MS = SECTION.of_group(coordinators.SHARE_SESSION_TIMEOUT)
SHARE_HEARTBEAT_INTERVAL_MS = SECTION.of_group(coordinators.SHARE_HEARTBEAT_INTERVAL)
SHARE_RECORD_LOCK_DURATION_MS = SECTION.of_group(coordinators.SHARE_RECORD_LOCK_DURATION)
SHARE_AUTO_OFFSET_RESET = SECTION.string(
    "share.auto.offset.reset",
    "latest",
    "Where a share group starts: `earliest`, `latest`, or `by_duration:` and an ISO 8601 duration.",
    check=check_offset_reset,
)
SHARE_ISOLATION_LEVEL = SECTION.string(
    "share.isolation.level",
    "read_uncommitted",
    "Whether a share group sees records of open and aborted transactions.",
    choices=("read_committed", "read_uncommitted"),
)
SHARE_RENEW_ACKNOWLEDGE_ENABLE = SECTION.boolean(
    "share.renew.acknowledge.enable",
    True,
    "Whether a member may renew its lock on a record instead of acknowledging it (KIP-1222).",
)
SHARE_ASSIGNMENT_INTERVAL_MS = SECTION.of_group(coordinators.SHARE_ASSIGNMENT_INTERVAL)
SHARE_DELIVERY_COUNT_LIMIT = SECTION.of_group(coordinators.SHARE_DELIVERY_COUNT_LIMIT)
SHARE_PARTITION_MAX_RECORD_LOCKS = SECTION.of_group(coordinators.SHARE_PARTITION_MAX_RECORD_LOCKS)
