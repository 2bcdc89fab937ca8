"""Creates and starts this node's part of the metadata quorum from the data on its disk.

A node with an empty disk is a quorum of one, unless it is to join another: then it observes until it has caught up, and
asks to become a voter (KIP-853, KIP-1186). A node that restarts finds the voters in its log. If it crashed while it
joined, its log may end before the record of the voters: then it is not a voter, and continues to join.
"""

import logging
import random
from collections.abc import Callable, Sequence
from typing import Final

from penstock.cluster.joining import Members
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.topic_names import CLUSTER_METADATA
from penstock.cluster.quorum.driver import RaftDriver
from penstock.cluster.quorum.peers import QuorumPeers
from penstock.cluster.quorum.quorum import Quorum
from penstock.cluster.quorum.quorum_state import QuorumStateFile
from penstock.cluster.quorum.stored_log import StoredRaftLog
from penstock.cluster.raft.values import Address, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import Voter, VoterSet
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import Property
from penstock.config.settings import replication
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.storage.files import FileSystem
from penstock.storage.store.log_store import LogStore

log = logging.getLogger(__name__)


def make_quorum(
    metadata: AppliedMetadata,
    store: LogStore,
    stored: StoredRaftLog,
    peers: QuorumPeers,
    *,
    files: FileSystem,
    clock: Clock,
    liveness: Clock,
    offload: Offload,
) -> Quorum:
    """`liveness` is the clock for timeouts between nodes."""

    def make_driver(quorum: Quorum, on_failure: Callable[[Exception], None]) -> RaftDriver:
        state_file = QuorumStateFile(files, stored.directory, store.cluster_id)
        return RaftDriver(
            stored, state_file, quorum, peers, clock=liveness, offload=offload, on_failure=on_failure
        )

    return Quorum(metadata, make_driver, clock=clock, offload=offload)


async def start_quorum(
    quorum: Quorum,
    store: LogStore,
    stored: StoredRaftLog,
    config: BrokerConfig,
    *,
    endpoints: Sequence[Endpoint],
    members: Members | None,
    is_mixed: bool,
    randomness: random.Random,
) -> None:
    """Start; a quorum of one leads when this returns. Raises `MetadataError`, `RaftError`, `LogError` or `OSError`.

    The other nodes reach this one at `endpoints`, and use the first. `is_mixed`: see `raft_settings`.
    """
    _check_present(store, stored)
    me = ReplicaKey(store.node_id, store.directory_id)
    here = tuple(Address(each.name, each.host, each.port) for each in endpoints)
    is_joining = await _is_joining(stored, me, members)
    if stored.end_offset == 0 and not is_joining and (others := other_voters(config)):
        log.warning(
            "Ignored controller.quorum.voters (%s): a node with an empty data directory starts a new cluster. Start "
            "the others with --join %s:%d",
            ", ".join(others),
            here[0].host or "HOST",
            here[0].port,
        )
    await quorum.driver.start(
        me,
        store.cluster_id,
        VoterSet() if is_joining else VoterSet([Voter(key=me, endpoints=here)]),
        settings=raft_settings(config, members, is_mixed=is_mixed),
        randomness=randomness,
        endpoints=here,
        bootstrap=_bootstrap(members),
    )
    if is_joining and members is None and len(quorum.driver.node.voters) == 0:
        await quorum.driver.stop()
        raise MetadataError(
            f"{stored.directory} ends before the voters of the cluster are named: this node stopped while it joined "
            "another. Start it again with --join HOST:PORT of a member"
        )


def _bootstrap(members: Members | None) -> tuple[Address, ...]:
    if members is None:
        return ()
    return tuple(Address(members.listener, host, port) for host, port in members.addresses)


async def _is_joining(stored: StoredRaftLog, me: ReplicaKey, members: Members | None) -> bool:
    """Whether this node is not the first voter of its log.

    The log of a static quorum of Kafka names no voters, and its first records may be deleted.
    """
    if members is not None and members.are_controllers:
        return True
    if stored.end_offset == 0:
        return members is not None
    founder = await stored.founder()
    return founder is not None and founder != me.node_id


def other_voters(config: BrokerConfig) -> list[str]:
    """The other voters in a configuration for Kafka's static quorum."""
    me = f"{config.node_id}@"
    return [each for each in config[replication.CONTROLLER_QUORUM_VOTERS] if not each.startswith(me)]


def _check_present(store: LogStore, stored: StoredRaftLog) -> None:
    others = sorted(name for name in store.partitions if name.topic != CLUSTER_METADATA)
    if others and stored.end_offset == 0:
        # A topic's metadata is durable before its logs exist: this is damage, not a first start.
        raise MetadataError(
            f"{stored.directory} is empty, but {store.directory} holds logs of {len(others)} partitions "
            f"({others[0].directory}, …): restore it from a backup, or move the logs away to start a new cluster"
        )


_TIMEOUTS_WITH_KAFKA_MS: Final = {
    replication.CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS.name: 1_000,
    replication.CONTROLLER_QUORUM_ELECTION_BACKOFF_MAX_MS.name: 1_000,
    replication.CONTROLLER_QUORUM_FETCH_TIMEOUT_MS.name: 2_000,
}
"""Kafka's defaults, longer than ours: its voters must not lose their followers, nor their elections."""


def raft_settings(config: BrokerConfig, members: Members | None, *, is_mixed: bool) -> RaftSettings:
    """A node that joins controllers stays an observer, unless it is told to become a voter (KIP-1186).

    A node without the role of a controller always stays one.

    `is_mixed`: nodes of Apache Kafka are in the cluster.
    """
    joins_controllers = members is not None and members.are_controllers

    def timeout_ms(setting: Property[int]) -> int:
        if is_mixed and setting.name not in config.settings():
            return _TIMEOUTS_WITH_KAFKA_MS[setting.name]
        return config[setting]

    return RaftSettings(
        election_timeout_ms=timeout_ms(replication.CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS),
        election_backoff_max_ms=timeout_ms(replication.CONTROLLER_QUORUM_ELECTION_BACKOFF_MAX_MS),
        fetch_timeout_ms=timeout_ms(replication.CONTROLLER_QUORUM_FETCH_TIMEOUT_MS),
        request_timeout_ms=config[replication.CONTROLLER_QUORUM_REQUEST_TIMEOUT_MS],
        retry_backoff_ms=config[replication.CONTROLLER_QUORUM_RETRY_BACKOFF_MS],
        snapshot_after_bytes=config[replication.METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS],
        auto_join=config.is_controller
        and (not joins_controllers or config[replication.CONTROLLER_QUORUM_AUTO_JOIN_ENABLE]),
    )
