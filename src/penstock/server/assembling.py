"""The parts that handlers use, put together; `Broker` starts and stops what of them runs by itself."""

import random
from collections.abc import Awaitable, Callable

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.elsewhere import CoordinatorsElsewhere
from penstock.cluster.peers import Peers
from penstock.cluster.producer_ids import ProducerIds
from penstock.cluster.replicas import Replicas
from penstock.config.themes import network
from penstock.groups.coordinator import GroupCoordinator
from penstock.groups.share.end_offsets import ClusterEndOffsets
from penstock.observability.clock import Clock
from penstock.observability.offload import Offload
from penstock.security.cluster_secret import ClusterSecret
from penstock.server.authorizing import make_authorizer
from penstock.server.auto_creation import AutoCreation
from penstock.server.broker_apis import Strangers
from penstock.server.context import Services
from penstock.server.fetch_sessions import FetchSessions
from penstock.server.memory import MemoryBudget, memory_limit
from penstock.server.metrics.broker import BrokerMetrics
from penstock.server.quotas import QuotaKeeper
from penstock.server.telemetry import Telemetry
from penstock.share.shares import Shares
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.state.persister import ClusterPersister
from penstock.storage.log_store import LogStore
from penstock.transactions.admission import Admissions
from penstock.transactions.coordinator import TransactionCoordinator
from penstock.transactions.guards import Guards
from penstock.transactions.markers import LocalMarkers
from penstock.transactions.remote import ClusterMarkers, ClusterVerifier


def make_services(
    store: LogStore,
    controller: Controller,
    replicas: Replicas,
    peers: Peers,
    secret: ClusterSecret,
    *,
    clock: Clock,
    liveness: Clock,
    randomness: random.Random,
    metrics: BrokerMetrics,
    checks: Offload,
    grant_producer_ids: Callable[[], Awaitable[range]],
) -> Services:
    """`liveness` is the clock by which brokers wait for each other."""
    node_id, image, config = store.node_id, controller.image, controller.config
    share_state = ShareStateCoordinator(controller, replicas, clock)
    persister = ClusterPersister(node_id, share_state, peers, liveness, randomness)
    end_offsets = ClusterEndOffsets(node_id, image, replicas, peers)
    groups = GroupCoordinator(
        controller, replicas, clock, randomness, persister=persister, end_offsets=end_offsets
    )
    guards = Guards()
    markers = LocalMarkers(replicas, clock, guards, groups.shards)
    producer_ids = ProducerIds(grant_producer_ids)
    transactions = TransactionCoordinator(
        controller,
        replicas,
        clock,
        new_producer_id=producer_ids.next,
        markers=ClusterMarkers(node_id, image, markers, peers),
    )
    verifier = ClusterVerifier(node_id, transactions.partitions.leader_of, transactions, peers)
    return Services(
        clock=clock,
        randomness=randomness,
        node_id=node_id,
        cluster_id=store.cluster_id,
        controller=controller,
        replicas=replicas,
        producer_ids=producer_ids,
        fetch_sessions=FetchSessions(config[network.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS], randomness),
        coordinators=CoordinatorsElsewhere(image, peers),
        groups=groups,
        share_state=share_state,
        persister=persister,
        shares=Shares(controller, replicas, persister, clock),
        transactions=transactions,
        markers=markers,
        admissions=Admissions(guards, verifier),
        authorizer=make_authorizer(controller),
        auto_creation=AutoCreation(controller.auto_create_topic),
        secret=secret,
        strangers=Strangers(liveness),
        metrics=metrics,
        quotas=QuotaKeeper(lambda: controller.config, clock),
        checks=checks,
        memory=MemoryBudget(memory_limit(config[network.QUEUED_MAX_REQUEST_BYTES])),
        telemetry=Telemetry(clock, randomness, bytes_max=config[network.TELEMETRY_MAX_BYTES]),
    )
