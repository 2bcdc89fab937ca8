"""The table of APIs this broker serves: one handler module for each, imported when first needed.

A handler module has `handle(ctx, request)`, which runs in connection order until it returns the response, or a `Reply`
when the response takes time; the coroutine of an `async` handler becomes a `Reply` in `dispatch`. Later requests go on
meanwhile, and responses are sent in order.

Exclusive: later requests of the connection wait for the response, as all do in Kafka, because it changes what they
read: a client may create a topic and ask for it right behind. Forwarded: the active controller answers, wherever the
client sends it. Early: answered before this broker has caught up with its cluster, which needs the votes and fetches of
its nodes. Internal: not advertised to clients. Versions that Kafka calls unstable are not advertised either.

A handler module also states its `VERSIONS`. A test compares them with the versions of the generated codec, which this
table uses: loading every handler to answer the first ApiVersions would take most of a second.
"""

from collections.abc import Collection

import msgspec

from penstock.protocol.apis import APIS
from penstock.protocol.messages.api_versions import ApiVersion


class Handler(msgspec.Struct, frozen=True):
    module: str
    versions: range
    advertised_from: int
    stable_to: int
    is_exclusive: bool
    is_forwarded: bool
    is_early: bool
    is_internal: bool


def _entry(
    key: int,
    module: str,
    *,
    advertised_from: int | None = None,
    stable_to: int | None = None,
    is_exclusive: bool = False,
    is_forwarded: bool = False,
    is_early: bool = False,
    is_internal: bool = False,
) -> tuple[int, Handler]:
    versions = APIS[key].versions
    first = versions.start if advertised_from is None else advertised_from
    last = versions[-1] if stable_to is None else stable_to
    return key, Handler(module, versions, first, last, is_exclusive, is_forwarded, is_early, is_internal)


HANDLERS: dict[int, Handler] = dict(
    [
        # librdkafka before 2.11.1 turns compression off unless Produce is shown from 0 (KAFKA-18659).
        _entry(0, "produce", advertised_from=0),
        _entry(1, "fetch", is_early=True),
        _entry(2, "list_offsets"),
        _entry(3, "metadata"),
        _entry(8, "offset_commit"),
        _entry(9, "offset_fetch"),
        _entry(10, "find_coordinator"),
        _entry(11, "join_group"),
        _entry(12, "heartbeat"),
        _entry(13, "leave_group"),
        _entry(14, "sync_group"),
        _entry(15, "describe_groups"),
        _entry(16, "list_groups"),
        _entry(17, "sasl_handshake", is_early=True),
        _entry(18, "api_versions", is_early=True),
        _entry(19, "create_topics", is_exclusive=True, is_forwarded=True),
        _entry(20, "delete_topics", is_exclusive=True, is_forwarded=True),
        _entry(21, "delete_records", is_exclusive=True),
        _entry(22, "init_producer_id", stable_to=5),
        _entry(23, "offset_for_leader_epoch"),
        _entry(24, "add_partitions_to_txn"),
        _entry(25, "add_offsets_to_txn"),
        _entry(26, "end_txn"),
        _entry(27, "write_txn_markers"),
        _entry(28, "txn_offset_commit"),
        _entry(29, "describe_acls"),
        _entry(30, "create_acls", is_exclusive=True, is_forwarded=True),
        _entry(31, "delete_acls", is_exclusive=True, is_forwarded=True),
        _entry(32, "describe_configs"),
        _entry(33, "alter_configs", is_exclusive=True, is_forwarded=True),
        _entry(35, "describe_log_dirs"),
        _entry(36, "sasl_authenticate", is_early=True),
        _entry(37, "create_partitions", is_exclusive=True, is_forwarded=True),
        _entry(42, "delete_groups", is_exclusive=True),
        _entry(43, "elect_leaders", is_exclusive=True, is_forwarded=True),
        _entry(44, "incremental_alter_configs", is_exclusive=True, is_forwarded=True),
        _entry(45, "alter_partition_reassignments", is_exclusive=True, is_forwarded=True),
        _entry(46, "list_partition_reassignments"),
        _entry(47, "offset_delete", is_exclusive=True),
        _entry(48, "describe_client_quotas"),
        _entry(49, "alter_client_quotas", is_exclusive=True, is_forwarded=True),
        _entry(50, "describe_user_scram_credentials"),
        _entry(51, "alter_user_scram_credentials", is_exclusive=True, is_forwarded=True),
        _entry(52, "vote", is_early=True, is_internal=True),
        _entry(53, "begin_quorum_epoch", is_early=True, is_internal=True),
        _entry(54, "end_quorum_epoch", is_early=True, is_internal=True),
        _entry(55, "describe_quorum", is_early=True, is_forwarded=True),
        _entry(56, "alter_partition", is_early=True, is_internal=True),
        _entry(57, "update_features", is_exclusive=True, is_forwarded=True),
        _entry(58, "envelope", is_early=True, is_internal=True),
        _entry(59, "fetch_snapshot", is_early=True, is_internal=True),
        _entry(60, "describe_cluster", is_early=True),
        _entry(61, "describe_producers"),
        _entry(62, "broker_registration", is_early=True, is_internal=True),
        _entry(63, "broker_heartbeat", is_early=True, is_internal=True),
        _entry(64, "unregister_broker", is_exclusive=True, is_forwarded=True),
        _entry(65, "describe_transactions"),
        _entry(66, "list_transactions"),
        _entry(67, "allocate_producer_ids", is_early=True, is_internal=True),
        _entry(68, "consumer_group_heartbeat"),
        _entry(69, "consumer_group_describe"),
        _entry(71, "get_telemetry_subscriptions"),
        _entry(72, "push_telemetry"),
        _entry(74, "list_config_resources"),
        _entry(75, "describe_topic_partitions"),
        _entry(76, "share_group_heartbeat"),
        _entry(77, "share_group_describe"),
        _entry(78, "share_fetch"),
        _entry(79, "share_acknowledge"),
        _entry(80, "add_raft_voter", is_early=True, is_forwarded=True),
        _entry(81, "remove_raft_voter", is_early=True, is_forwarded=True),
        _entry(82, "update_raft_voter", is_early=True, is_internal=True),
        _entry(83, "initialize_share_group_state"),
        _entry(84, "read_share_group_state"),
        _entry(85, "write_share_group_state"),
        _entry(86, "delete_share_group_state"),
        _entry(87, "read_share_group_state_summary"),
        _entry(90, "describe_share_group_offsets"),
        _entry(91, "alter_share_group_offsets"),
        _entry(92, "delete_share_group_offsets"),
    ]
)


TELEMETRY = (71, 72)
"""Advertised only while there is a metrics subscription, as in Kafka: librdkafka logs a line about it."""


def advertised_versions(hidden: Collection[int] = (), *, unstable: bool = False) -> list[ApiVersion]:
    """Return the advertised versions, as an ApiVersions response has them."""
    return [
        ApiVersion(
            api_key=key,
            min_version=h.advertised_from,
            max_version=h.versions[-1] if unstable else h.stable_to,
        )
        for key, h in HANDLERS.items()
        if not h.is_internal and key not in hidden
    ]
