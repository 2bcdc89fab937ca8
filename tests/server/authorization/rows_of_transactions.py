"""Requests of transactional producers and of transaction coordinators."""

from penstock.security.operations import Operation as Op
from tests.server.authorization.row import (
    CLUSTER_REFUSED,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    broker_row,
    cluster,
    group,
    row,
    topic,
    transactional_id,
)
from tests.server.live import batch, produce_request

_TOPICS = [{"name": TOPIC, "partitions": [0]}]
_MARKERS = [{"producer_id": 1, "topics": [{"name": "guarded-absent", "partition_indexes": [0]}]}]

ROWS = [
    row(
        0,
        "of a transaction",
        transactional_id(Op.WRITE),
        topic(Op.WRITE),
        fields=lambda place: produce_request(
            place.topic,
            {0: batch(b"v", producer_id=99_999, epoch=0, sequence=0, is_transactional=True)},
            transactional_id=TRANSACTIONAL_ID,
        ),
    ),
    row(
        10,
        "of a transactional id",
        transactional_id(Op.DESCRIBE),
        fields={"key_type": 1, "coordinator_keys": [TRANSACTIONAL_ID]},
    ),
    row(
        22,
        "of a transactional id",
        transactional_id(Op.WRITE),
        fields={
            "transactional_id": TRANSACTIONAL_ID,
            "transaction_timeout_ms": -1,
            "producer_id": -1,
            "producer_epoch": -1,
        },
    ),
    row(
        22,
        "for two-phase commit",
        transactional_id(Op.WRITE),
        transactional_id(Op.TWO_PHASE_COMMIT),
        fields={
            "transactional_id": TRANSACTIONAL_ID,
            "transaction_timeout_ms": 0,
            "producer_id": -1,
            "producer_epoch": -1,
            "enable2_pc": True,
        },
    ),
    row(22, "idempotent", cluster(Op.IDEMPOTENT_WRITE), fields={"transactional_id": None}),
    row(
        22,
        "idempotent, by a right on any topic",
        topic(Op.WRITE, refusal=CLUSTER_REFUSED),
        fields={"transactional_id": None},
    ),
    row(
        24,
        "v3",
        transactional_id(Op.WRITE),
        topic(Op.WRITE),
        version=3,
        fields={"v3_and_below_transactional_id": TRANSACTIONAL_ID, "v3_and_below_topics": _TOPICS},
    ),
    broker_row(
        24,
        "from brokers",
        fields={"transactions": [{"transactional_id": TRANSACTIONAL_ID, "topics": _TOPICS}]},
    ),
    row(
        25,
        "",
        transactional_id(Op.WRITE),
        group(Op.READ),
        fields={"transactional_id": TRANSACTIONAL_ID, "group_id": GROUP},
    ),
    row(26, "", transactional_id(Op.WRITE), fields={"transactional_id": TRANSACTIONAL_ID}),
    row(27, "that abort", cluster(Op.ALTER), fields={"markers": _MARKERS}),
    broker_row(27, "that commit", fields={"markers": [{**_MARKERS[0], "transaction_result": True}]}),
    row(
        28,
        "",
        transactional_id(Op.WRITE),
        group(Op.READ),
        topic(Op.READ),
        fields={
            "transactional_id": TRANSACTIONAL_ID,
            "group_id": GROUP,
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}],
        },
    ),
    row(
        65,
        "",
        transactional_id(Op.DESCRIBE),
        fields={"transactional_ids": [TRANSACTIONAL_ID]},
    ),
    row(
        66,
        "",
        transactional_id(Op.DESCRIBE, None),
        shows=lambda answer: (
            TRANSACTIONAL_ID in [each.transactional_id for each in answer.transaction_states]
        ),
    ),
]
