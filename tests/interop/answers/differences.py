"""Where Penstock answers otherwise than Kafka on purpose, each with its reason.

A pattern is matched with the label of an answer, and the whole answer may differ. The test fails when one of them is
not needed any more.
"""

import re
from typing import Final

_LEFT_OUT_APIS: Final = (34, *range(38, 42), 88, 89)

INTENDED: Final = {
    rf"ApiVersions v\d of ({'|'.join(map(str, _LEFT_OUT_APIS))})": "README says what it does not do: moving replicas "
    "between directories, delegation tokens, and KIP-1071's groups for Kafka Streams",
    r"setting (log.flush.interval|flush).messages of \d": "an acknowledgement follows the disk sync, by default",
    r"setting ssl.(keystore|truststore).type of 4": "PEM is the only kind",
    r"setting sasl.enabled.mechanisms of 4": "there is no Kerberos",
    r"setting sasl.oauthbearer.\S+ of 4": "they can be changed while running here",
    r"setting metric.reporters of 4": "there is no JMX",
    r"setting broker.(session.timeout|heartbeat.interval).ms of 4": "another node leads sooner",
    r"setting replica.fetch.backoff.ms of 4": "another node leads sooner",
    r"setting transaction.partition.verification.enable of 4": "it takes a restart here",
    r"setting streams.\S+ of 32": "there are no groups of Kafka Streams",
    r"Produce v\d+ (two batches|no batch|magic 1|cut off)": "a refusal tells the log's start too",
    r"Produce v\d+ \S+: the (same|oldest of five) again": "a retry is told no time, as when it was first sent",
    r"ShareFetch v\d unknown topic of .*": "UNKNOWN_TOPIC_ID of its partition; in Kafka the request fails as a whole",
    r"ShareFetch v2 mode 7 of .*": "INVALID_REQUEST, not UNKNOWN_SERVER_ERROR",
    r"DescribeShareGroupOffsets v1 from (latest|a day|long)": "where a group begins is written down at once",
    r"DescribeShareGroupOffsets v\d no partitions with a member": "nothing, not UNKNOWN_SERVER_ERROR",
    r"AlterUserScramCredentials v0 delete and set": "that the user is named twice goes before that it is unknown",
}


def reason(label: str) -> str | None:
    """The pattern that explains why this answer differs."""
    return next((pattern for pattern in INTENDED if re.fullmatch(pattern, label)), None)
