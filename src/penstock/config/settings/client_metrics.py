"""Settings of one subscription to metrics of clients (resource type CLIENT_METRICS, KIP-714)."""

from penstock.config.property import Live
from penstock.config.section import Section

SECTION = Section("Client metrics subscriptions", live=Live.CLUSTER_WIDE)

INTERVAL_MS_DEFAULT = 300_000
INTERVAL_MS_MIN, INTERVAL_MS_MAX = 100, 3_600_000
MATCHED = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""The attributes of a client that a pattern can match."""

METRICS = SECTION.names(
    "metrics", (), "Names of metrics, or what they begin with, that clients shall send; `*` is all."
)
INTERVAL_MS = SECTION.integer(
    "interval.ms",
    INTERVAL_MS_DEFAULT,
    f"How often they shall send them, from {INTERVAL_MS_MIN} to {INTERVAL_MS_MAX} (an hour).",
)
MATCH = SECTION.names(
    "match",
    (),
    f"Which clients, as name=regular expression; the names are {', '.join(MATCHED)}. Empty is all clients. "
    "Of long texts the first 128 characters count.",
)
