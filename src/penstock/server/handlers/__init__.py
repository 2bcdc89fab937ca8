"""The table of APIs this broker serves: one handler module for each, imported when first needed.

A handler module has `handle(ctx, request)`, which runs in connection order until it returns the response, or a `Reply`
when the response takes time; the coroutine of an `async` handler becomes a `Reply` in `dispatch`. Later requests
proceed meanwhile, and responses are sent in order.

Exclusive: later requests of the connection wait for the response, as all do in Kafka, because it changes the state they
read: a client may create a topic and request it right after. Forwarded: the active controller answers, wherever the
client sends it. Early: answered before this broker has caught up with its cluster, which needs the votes and fetches of
its nodes. Internal: not advertised to clients. Versions that Kafka calls unstable are not advertised either.

A handler module also states its `VERSIONS`. A test compares them with the versions of the generated codec, which this
table uses: loading every handler to answer the first ApiVersions would take most of a second.
"""

from collections.abc import Collection, Mapping

import msgspec

from penstock.protocol.apis import APIS
from penstock.protocol.messages.api_versions import ApiVersion


class Handler(msgspec.Struct, frozen=True):
    module: str
    advertised_from: int | None = None
    """The first advertised version, unless it is the first version that is served."""
    stable_to: int | None = None
    """The last stable version, unless all are stable."""
    is_exclusive: bool = False
    is_forwarded: bool = False
    is_early: bool = False
    is_internal: bool = False


HANDLERS: dict[int, Handler] = {
    # librdkafka before 2.11.1 turns compression off unless Produce is shown from 0 (KAFKA-18659).
    0: Handler("produce", advertised_from=0),
    1: Handler("fetch", is_early=True),
    2: Handler("list_offsets"),
    3: Handler("metadata"),
    8: Handler("offset_commit"),
    9: Handler("offset_fetch"),
    10: Handler("find_coordinator"),
    11: Handler("join_group"),
    12: Handler("heartbeat"),
    13: Handler("leave_group"),
    14: Handler("sync_group"),
    15: Handler("describe_groups"),
    16: Handler("list_groups"),
    17: Handler("sasl_handshake", is_early=True),
    18: Handler("api_versions", is_early=True),
    19: Handler("create_topics", is_exclusive=True, is_forwarded=True),
    20: Handler("delete_topics", is_exclusive=True, is_forwarded=True),
    21: Handler("delete_records", is_exclusive=True),
    22: Handler("init_producer_id", stable_to=5),
    23: Handler("offset_for_leader_epoch"),
    24: Handler("add_partitions_to_txn"),
    25: Handler("add_offsets_to_txn"),
    26: Handler("end_txn"),
    27: Handler("write_txn_markers"),
    28: Handler("txn_offset_commit"),
    29: Handler("describe_acls"),
    30: Handler("create_acls", is_exclusive=True, is_forwarded=True),
    31: Handler("delete_acls", is_exclusive=True, is_forwarded=True),
    32: Handler("describe_configs"),
    33: Handler("alter_configs", is_exclusive=True, is_forwarded=True),
    35: Handler("describe_log_dirs"),
    36: Handler("sasl_authenticate", is_early=True),
    37: Handler("create_partitions", is_exclusive=True, is_forwarded=True),
    42: Handler("delete_groups", is_exclusive=True),
    43: Handler("elect_leaders", is_exclusive=True, is_forwarded=True),
    44: Handler("incremental_alter_configs", is_exclusive=True, is_forwarded=True),
    45: Handler("alter_partition_reassignments", is_exclusive=True, is_forwarded=True),
    46: Handler("list_partition_reassignments"),
    47: Handler("offset_delete", is_exclusive=True),
    48: Handler("describe_client_quotas"),
    49: Handler("alter_client_quotas", is_exclusive=True, is_forwarded=True),
    50: Handler("describe_user_scram_credentials"),
    51: Handler("alter_user_scram_credentials", is_exclusive=True, is_forwarded=True),
    52: Handler("vote", is_early=True, is_internal=True),
    53: Handler("begin_quorum_epoch", is_early=True, is_internal=True),
    54: Handler("end_quorum_epoch", is_early=True, is_internal=True),
    55: Handler("describe_quorum", is_early=True, is_forwarded=True),
    56: Handler("alter_partition", is_early=True, is_internal=True),
    57: Handler("update_features", is_exclusive=True, is_forwarded=True),
    58: Handler("envelope", is_early=True, is_internal=True),
    59: Handler("fetch_snapshot", is_early=True, is_internal=True),
    60: Handler("describe_cluster", is_early=True),
    61: Handler("describe_producers"),
    62: Handler("broker_registration", is_early=True, is_internal=True),
    63: Handler("broker_heartbeat", is_early=True, is_internal=True),
    64: Handler("unregister_broker", is_exclusive=True, is_forwarded=True),
    65: Handler("describe_transactions"),
    66: Handler("list_transactions"),
    67: Handler("allocate_producer_ids", is_early=True, is_internal=True),
    68: Handler("consumer_group_heartbeat"),
    69: Handler("consumer_group_describe"),
    70: Handler("controller_registration", is_early=True, is_internal=True),
    71: Handler("get_telemetry_subscriptions"),
    72: Handler("push_telemetry"),
    73: Handler("assign_replicas_to_dirs", is_early=True, is_internal=True),
    74: Handler("list_config_resources"),
    75: Handler("describe_topic_partitions"),
    76: Handler("share_group_heartbeat"),
    77: Handler("share_group_describe"),
    78: Handler("share_fetch"),
    79: Handler("share_acknowledge"),
    80: Handler("add_raft_voter", is_early=True, is_forwarded=True),
    81: Handler("remove_raft_voter", is_early=True, is_forwarded=True),
    82: Handler("update_raft_voter", is_early=True, is_internal=True),
    83: Handler("initialize_share_group_state"),
    84: Handler("read_share_group_state"),
    85: Handler("write_share_group_state"),
    86: Handler("delete_share_group_state"),
    87: Handler("read_share_group_state_summary"),
    90: Handler("describe_share_group_offsets"),
    91: Handler("alter_share_group_offsets"),
    92: Handler("delete_share_group_offsets"),
}


CONTROLLER_APIS = frozenset(
    {
        *(1, 17, 18, 29, 32, 36, 46, 50, 60),
        *(key for key, each in HANDLERS.items() if each.is_internal or each.is_forwarded),
    }
)
"""The APIs that Kafka's controllers serve, and that are served on a listener of controllers: no others are."""

FORWARDED_BY_KAFKA = frozenset({46})
"""Requests that brokers of Kafka forward to the controller, and that every node handles itself here."""

TELEMETRY = (71, 72)
"""Advertised only while there is a metrics subscription, as in Kafka: librdkafka logs a line about it."""


def advertised_versions(
    hidden: Collection[int] = (),
    *,
    unstable: bool = False,
    of_controllers: bool = False,
    forwarded_versions: Mapping[int, tuple[int, int]] = {},
) -> list[ApiVersion]:
    """Return the advertised versions, as an ApiVersions response has them.

    `of_controllers`: on a listener of controllers, which also serves the internal APIs. `forwarded_versions` are those
    of the controller that answers forwarded requests, unless it is this node: an older one limits them.
    """
    found = []
    for key, h in HANDLERS.items():
        if not (key in CONTROLLER_APIS if of_controllers else not h.is_internal and key not in hidden):
            continue
        first = APIS[key].versions[0] if h.advertised_from is None else h.advertised_from
        last = APIS[key].versions[-1] if unstable or h.stable_to is None else h.stable_to
        if h.is_forwarded and forwarded_versions:
            lowest, highest = forwarded_versions.get(key, (0, -1))
            first, last = max(first, lowest), min(last, highest)
        if first <= last:
            found.append(ApiVersion(api_key=key, min_version=first, max_version=last))
    return found
