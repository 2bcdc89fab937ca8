"""How a node comes to its cluster: the members that it asks, the cluster of its data directory, and the secret.

A node joins the members that `--join` names, or the controllers in its settings. Where nodes of Apache Kafka are in the
cluster, the nodes of Penstock agree on a secret before they register (ADR 23).
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from penstock.cluster.joining import (
    JoinFailed,
    JoinRefused,
    Members,
    check_features,
    check_node_id,
    find_cluster,
)
from penstock.cluster.lifecycle import NotAdmitted
from penstock.cluster.quorum.quorum import Quorum
from penstock.config.broker import BrokerConfig
from penstock.config.controllers import controller_listener, controllers_to_join
from penstock.config.settings import replication
from penstock.runtime.clock import Clock
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.dialer import Dialer
from penstock.server.broker.parts import Parts
from penstock.server.broker.secret_agreement import SecretAgreement
from penstock.server.broker.secret_file import create_secret, load_secret, store_secret
from penstock.server.ports import Ports

log = logging.getLogger(__name__)

_CATCH_UP_POLL_MS: Final = 10


class Joining:
    def __init__(
        self,
        config: BrokerConfig,
        ports: Ports,
        directory: str,
        *,
        join: Sequence[tuple[str, int]],
        secret: bytes | None,
        find_secret: Callable[[str], bytes | None],
    ) -> None:
        """The arguments are those of `Broker`. Raises `ConfigError`."""
        self._config = config
        self._ports = ports
        self._directory = directory
        self.members = _members_to_join(config, join)
        known = load_secret(ports.files, directory, secret)
        self.secret = ClusterSecret(ports.randomness, known, find_secret)

    @property
    def joins_controllers(self) -> bool:
        """Whether it joins the controllers in its settings: until it knows the metadata, they may be Kafka's."""
        return self.members is not None and self.members.are_controllers

    async def cluster_id(self, dialer: Dialer, own_cluster_id: str | None) -> str | None:
        """The id of the cluster to join. None for a node that joins no cluster, or that is a member already while
        the named members are down. Raises `JoinFailed` or `NotAdmitted`.
        """
        if self.members is None:
            return None
        try:
            cluster = await find_cluster(self.members, dialer.open)
        except JoinFailed as error:
            if own_cluster_id is None:
                raise
            if isinstance(error, JoinRefused):
                raise NotAdmitted(
                    f"{self._directory} belongs to cluster {own_cluster_id}, and the one to join does not know it "
                    "(or has another token): give an empty data directory with --data DIR, or join the cluster it "
                    "belongs to"
                ) from error
            log.info(
                "Ignored %s: this node is a member of its cluster already: %s", self.members.setting, error
            )
            return None
        check_features(cluster)
        if own_cluster_id is None:
            check_node_id(cluster, self._config.node_id)
        return cluster.cluster_id

    def create_secret(self, parts: Parts) -> None:
        """Make the secret of a cluster that begins with this node, unless the nodes agree on it later."""
        if self._agrees_on_secret(parts):
            return
        is_alone = parts.quorum.is_alone
        if self.secret.value is None and (is_alone or parts.dialer.proves_secret):
            create_secret(self._ports.files, parts.store.directory, self.secret, is_alone=is_alone)

    def secret_agreement(self, parts: Parts) -> SecretAgreement | None:
        """None where the secret is known from the start, or nodes need none."""
        needs_secret = parts.dialer.proves_secret or parts.dialer.proves_secret_to_controllers
        if not (self._agrees_on_secret(parts) and needs_secret):
            return None
        return SecretAgreement(
            parts.store.node_id,
            self.secret,
            parts.metadata.image,
            parts.dialer,
            self._ports.liveness,
            listener=self._config.inter_broker_listener,
            voter_ids=lambda: parts.quorum.voter_ids,
            store=partial(store_secret, self._ports.files, parts.store.directory, self.secret),
        )

    def _agrees_on_secret(self, parts: Parts) -> bool:
        """Whether the cluster may have no secret yet: it has nodes of Kafka, and this one may have been Kafka's."""
        return self.joins_controllers or (parts.mixed.is_mixed and not parts.quorum.is_alone)

    async def catch_up(self, quorum: Quorum) -> None:
        """Wait until this node knows the metadata of the cluster that it joins. Raises `NotAdmitted`."""
        timeout_ms = self._config[replication.INITIAL_BROKER_REGISTRATION_TIMEOUT_MS]
        clock: Clock = self._ports.liveness
        deadline_ms = clock.monotonic_ms() + timeout_ms
        while not quorum.has_caught_up:
            if quorum.failure is not None:
                raise NotAdmitted(f"the metadata of the cluster cannot be applied: {quorum.failure}")
            if clock.monotonic_ms() >= deadline_ms:
                raise NotAdmitted(
                    f"the metadata of the cluster could not be read within {timeout_ms} ms: check that a majority of "
                    "its controllers run"
                )
            await clock.sleep(_CATCH_UP_POLL_MS)


def _members_to_join(config: BrokerConfig, join: Sequence[tuple[str, int]]) -> Members | None:
    """`--join` names brokers, and the settings name controllers. Raises `ConfigError`."""
    if join:
        return Members(tuple(join), config.inter_broker_listener)
    controllers = controllers_to_join(config)
    if not controllers:
        return None
    return Members(controllers, controller_listener(config) or "", are_controllers=True)
