"""The context that a handler is given: the request's details and the parts of the broker it may use."""

from collections.abc import Collection

import msgspec

from penstock.cluster.controller import Controller
from penstock.cluster.controller.active import ActiveController
from penstock.cluster.controller_access import ControllerAccess
from penstock.cluster.coordination.remote_coordinators import RemoteCoordinators
from penstock.cluster.producer_ids import ProducerIds
from penstock.cluster.quorum.quorum import Quorum
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.groups.coordinator import GroupCoordinator
from penstock.mirror.mirrors import Mirrors
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.security.authorizer import Authorizer
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import CLUSTER_NAME, ResourceType
from penstock.server.auto_creation import AutoCreation
from penstock.server.broker_apis import ImpersonationLog
from penstock.server.broker_metrics import BrokerMetrics
from penstock.server.connections import Peer
from penstock.server.fetch_sessions import FetchSessions
from penstock.server.listener_check import ListenerCheck
from penstock.server.memory import MemoryBudget
from penstock.server.quotas import MutationQuota, QuotaKeeper
from penstock.server.telemetry import Telemetry
from penstock.share.shares import Shares
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.state.persister import ClusterPersister
from penstock.transactions.admission import Admissions
from penstock.transactions.coordinator import TransactionCoordinator
from penstock.transactions.markers import LocalMarkers


class Services(msgspec.Struct, kw_only=True, eq=False):
    """The parts of one broker that handlers use; put together by `Parts`."""

    clock: Clock
    node_id: int
    cluster_id: str
    controller: Controller
    replicas: Replicas
    producer_ids: ProducerIds
    fetch_sessions: FetchSessions
    coordinators: RemoteCoordinators
    groups: GroupCoordinator
    share_state: ShareStateCoordinator
    persister: ClusterPersister
    shares: Shares
    transactions: TransactionCoordinator
    markers: LocalMarkers
    admissions: Admissions
    authorizer: Authorizer
    auto_creation: AutoCreation
    secret: ClusterSecret
    strangers: ImpersonationLog
    metrics: BrokerMetrics
    quotas: QuotaKeeper
    telemetry: Telemetry
    memory: MemoryBudget
    checks: Offload
    quorum: Quorum
    access: ControllerAccess
    active: ActiveController
    mirrors: Mirrors
    listeners: ListenerCheck
    controller_listeners: Collection[str]
    """The names of the listeners of controllers."""
    broker_principals: Collection[Principal]
    """The principals that count as brokers on the brokers' listener."""
    is_ready: bool = False

    @property
    def config(self) -> BrokerConfig:
        """The current settings: some change while running."""
        return self.controller.config


class RequestContext(msgspec.Struct, eq=False):
    """One request in a handler. A `Struct`, which is created without running Python code."""

    broker: Services
    peer: Peer
    version: int
    client_id: str
    number: int
    """The sequence number of this request on its connection."""
    request_bytes: int = 0
    began_ms: float = 0.0
    busy_ms: float = 0.0
    """The time for which the request occupied the event loop."""

    def mutation_quota(self, *, strict_from: int) -> MutationQuota:
        """The quota for partitions that this request creates or deletes; it is strict from that version on."""
        return self.broker.quotas.mutations(self.peer, self.client_id, is_strict=self.version >= strict_from)

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether the sender of the request may do this to the resource."""
        authorizer, peer = self.broker.authorizer, self.peer
        return (
            not authorizer.is_enforcing
            or authorizer.allows(peer.principal, peer.host, operation, resource_type, name)
            or peer.is_broker
        )

    def may_in_cluster(self, operation: Operation) -> bool:
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME)
