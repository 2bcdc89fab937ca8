"""Differences between the responses of Penstock and Kafka 4.3.1, with reasons: the rows of docs/differences.md.

A row is about the answers whose label matches, and in them about the fields whose path matches, with these values; an
empty path is the answer as a whole. `test_answers` fails for a difference without a row and for a row without one.
After a change, rewrite the page: `python -m tests.interop.answers.page`.
"""

import re
from typing import Final, NamedTuple

from tests.interop.answers.comparing import FieldDifference


class Difference(NamedTuple):
    section: str
    labels: str
    fields: str
    where: str
    kafka: str
    penstock: str
    reason: str
    values: tuple[str, ...]
    """What Kafka has in such a field, and what Penstock; see `shown`."""


_APIS: Final = "APIs"
_FEATURES: Final = "Features of the cluster"
_ANSWERS: Final = "Responses"
_SETTINGS: Final = "Settings"
_ANY: Final = ".*"
_VALUE: Final = r"(synonyms\.)?value"

INTENDED: Final = (
    Difference(
        _APIS, r"ApiVersions v\d of 34|AlterReplicaLogDirs v\d plain", "",
        "AlterReplicaLogDirs", "served", "not listed; the connection is closed",
        "A broker has one data directory, so a replica cannot be moved to another.",
        ("… → CLOSED", "… → MISSING"),
    ),
    Difference(
        _APIS, r"ApiVersions v\d of (38|39|40|41)|(Create|Renew|Expire|Describe)DelegationToken v\d plain", "",
        "CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken",
        "served", "not listed; the connection is closed", "There are no delegation tokens.",
        ("… → CLOSED", "… → MISSING"),
    ),
    Difference(
        _APIS, r"ApiVersions v\d of (88|89)|StreamsGroup(Heartbeat|Describe) v0 plain", "",
        "StreamsGroupHeartbeat, StreamsGroupDescribe", "served", "not listed; the connection is closed",
        "There are no groups of Kafka Streams (KIP-1071), though `streams.version` is 1 as in Kafka. Streams runs with "
        "the classic protocol.",
        ("… → CLOSED", "… → MISSING"),
    ),
    Difference(
        _FEATURES, r"ApiVersions v[34] supported metadata.version", "min_version",
        "lowest `metadata.version`", "7 (3.3-IV3)", "25 (4.0-IV3)",
        "No earlier version of Penstock wrote older records.",
        ("7 → 25",),
    ),
    Difference(
        _ANSWERS, r"DescribeCluster v[12] endpoints 2", _ANY,
        "DescribeCluster for controllers", "MISMATCHED_ENDPOINT_TYPE on a broker's listener",
        "the nodes that are controllers",
        "Every listener serves both, so `--bootstrap-controller` may be any broker.",
        (" → ITS OWN", "-1 → 1", "1 → 2", "114 → 0", "… → …"),
    ),
    Difference(
        _ANSWERS, r"Share(Fetch|Acknowledge) v\d .*", r"responses\.partitions\.current_leader\.leader_(id|epoch)",
        "ShareFetch, ShareAcknowledge: CurrentLeader when no other broker leads", "0 and 0", "-1 and -1",
        "Broker 0 may exist: franz-go then moves the partition there and stalls.",
        ("0 → -1",),
    ),
    Difference(
        _ANSWERS, r"ShareFetch v\d unknown topic of .*", r"error_code|responses|acquisition_lock_timeout_ms",
        "ShareFetch of an unknown topic", "UNKNOWN_SERVER_ERROR for the whole request",
        "UNKNOWN_TOPIC_ID for the partition", "The other partitions of the request are served.",
        ("-1 → 0", "0 → 30000", "… → …"),
    ),
    Difference(
        _ANSWERS, r"ShareFetch v2 mode 7 of .*", "error_code",
        "ShareFetch with an unknown acquire mode", "UNKNOWN_SERVER_ERROR", "INVALID_REQUEST",
        "The error is the client's.",
        ("-1 → 42",),
    ),
    Difference(
        _ANSWERS, r"DescribeShareGroupOffsets v1 from (latest|a day|long)",
        r"groups\.topics\.partitions\.(start_offset|lag)",
        "DescribeShareGroupOffsets before the first acknowledgement", "-1: not known yet",
        "the start offset and the lag", "The start offset of a share partition is stored with the first fetch.",
        ("-1 → 0", "-1 → 20"),
    ),
    Difference(
        _ANSWERS, r"DescribeShareGroupOffsets v\d no partitions with a member", r"groups\.(error_code|topics)",
        "DescribeShareGroupOffsets of a topic without partitions", "UNKNOWN_SERVER_ERROR", "an empty response",
        "Nothing was requested, and nothing failed.",
        ("-1 → 0", "… → …"),
    ),
    Difference(
        _ANSWERS, r"Produce v\d+ (two batches|no batch|magic 1|cut off)",
        r"responses\.partition_responses\.log_start_offset",
        "Produce of malformed records: LogStartOffset", "-1", "the log's start", "It is known.",
        ("-1 → 0",),
    ),
    Difference(
        _ANSWERS, r"Produce v\d+ \S+: the (same|oldest of five) again",
        r"responses\.partition_responses\.log_append_time_ms",
        "Produce of a duplicate batch: LogAppendTimeMs", "the timestamp of the batch", "-1",
        "With `message.timestamp.type=CreateTime` the first response has -1, and a retry gets the same response.",
        ("1700000000000 → -1",),
    ),
    Difference(
        _ANSWERS, r"AlterUserScramCredentials v0 delete and set", r"results\.error_code",
        "AlterUserScramCredentials that both deletes and sets an unknown user", "RESOURCE_NOT_FOUND",
        "DUPLICATE_RESOURCE", "Both errors apply; contradictory requests are checked first.",
        ("91 → 92",),
    ),
    Difference(
        _SETTINGS, r"setting (log.flush.interval|flush).messages of \d", _VALUE,
        "`flush.messages`, `log.flush.interval.messages`", "9223372036854775807", "1",
        "An acknowledgement follows the disk sync, by default.",
        ("9223372036854775807 → 1",),
    ),
    Difference(
        _SETTINGS, r"setting ssl.(keystore|truststore).type of 4", _VALUE,
        "`ssl.keystore.type`, `ssl.truststore.type`", "JKS", "PEM", "PEM is the default; PKCS12 is accepted too.",
        ("JKS → PEM",),
    ),
    Difference(
        _SETTINGS, r"setting sasl.enabled.mechanisms of 4", _VALUE,
        "`sasl.enabled.mechanisms`", "GSSAPI", "empty", "There is no Kerberos.",
        ("GSSAPI → ",),
    ),
    Difference(
        _SETTINGS, r"setting sasl.oauthbearer.\S+ of 4", "read_only",
        "`sasl.oauthbearer.*`", "read-only", "can be changed while the broker runs", "A change needs no restart.",
        ("True → False",),
    ),
    Difference(
        _SETTINGS, r"setting metric.reporters of 4", _VALUE,
        "`metric.reporters`", "JmxReporter", "empty", "There is no JMX; metrics are in Prometheus' format.",
        ("org.apache.kafka.common.metrics.JmxReporter → ",),
    ),
    Difference(
        _SETTINGS, r"setting broker.(session.timeout|heartbeat.interval).ms of 4", _VALUE,
        "`broker.session.timeout.ms`, `broker.heartbeat.interval.ms`", "9000, 2000", "2000, 400",
        "Another broker takes over sooner.",
        ("2000 → 400", "9000 → 2000"),
    ),
    Difference(
        _SETTINGS, r"setting replica.fetch.backoff.ms of 4", _VALUE,
        "`replica.fetch.backoff.ms`", "1000", "100", "A follower is back in sync sooner.",
        ("1000 → 100",),
    ),
    Difference(
        _SETTINGS, r"setting transaction.partition.verification.enable of 4", "read_only",
        "`transaction.partition.verification.enable`", "can be changed while the broker runs", "read-only",
        "It takes a restart here.",
        ("False → True",),
    ),
    Difference(
        _SETTINGS, r"setting streams.\S+ of 32", "",
        "`streams.*` of a group", "listed", "not listed", "There are no groups of Kafka Streams.",
        ("… → MISSING",),
    ),
)  # fmt: skip


def shown(difference: FieldDifference) -> str:
    """Both values in short: `…` replaces one that has fields or entries of its own."""
    kafkas, ours = (
        "…" if isinstance(value, dict | list) else str(value)
        for value in (difference.kafkas, difference.ours)
    )
    return f"{kafkas} → {ours}"


def row_of(label: str, path: str) -> Difference | None:
    """The row that explains why this field of this answer differs."""
    return next(
        (each for each in INTENDED if re.fullmatch(each.labels, label) and re.fullmatch(each.fields, path)),
        None,
    )
