"""How the nodes of Penstock in a mixed cluster agree on its secret, before it is required (ADR 23).

The first node makes it. Every later one proves it to an earlier one, or is not admitted. A proof needs a listener that
asks for no login: the brokers' or the controllers'. If the earlier nodes have none, a later node is only admitted with
the token that it was given, or finds on its host.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from penstock.cluster.lifecycle import NotAdmitted
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import RegisteredBroker, is_kafka_node
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ProtocolError
from penstock.runtime.clock import Clock
from penstock.security.cluster_secret import JOIN_HINT, ClusterSecret
from penstock.security.dialer import Dialer, NotAMember

_ANSWER_MS_MAX = 10_000
_RETRY_MS = 100
_ALWAYS_EARLIER = -1


class _Node(NamedTuple):
    """Another node of Penstock. `endpoint` is where it takes proofs; None if each of its listeners asks for a login."""

    node_id: int
    epoch: int
    endpoint: Endpoint | None


class SecretAgreement:
    def __init__(
        self,
        node_id: int,
        secret: ClusterSecret,
        image: MetadataImage,
        dialer: Dialer,
        clock: Clock,
        *,
        listener: str,
        voter_ids: Callable[[], Collection[int]],
        store: Callable[[], None],
    ) -> None:
        """`listener` is the brokers'; `store` saves the secret."""
        self._node_id = node_id
        self._secret = secret
        self._image = image
        self._dialer = dialer
        self._clock = clock
        self._listener = listener
        self._voter_ids = voter_ids
        self._store = store

    async def obtain(self) -> None:
        """Prove the secret to a node of Penstock that is registered, if there is any. Raises `NotAdmitted`."""
        if self._secret.value is None and (others := self._others()):
            await self._agree_with(others, is_final=True)

    async def complete(self, broker_epoch: int | None = None) -> None:
        """Make the secret, unless a node of Penstock was registered before this one, with its `broker_epoch` if it is
        a broker. Raises `NotAdmitted`.
        """
        if self._secret.value is not None:
            return
        others = self._others()
        earlier = [each for each in others if broker_epoch is None or each.epoch < broker_epoch]
        if earlier:
            await self._agree_with(earlier, is_final=False)
        else:
            self._secret.make()
            self._store()

    def _others(self) -> list[_Node]:
        """The brokers, and the voters that are no brokers: the registration of a controller outlives it."""
        brokers, voter_ids = self._image.brokers, self._voter_ids()
        found = [
            _Node(each, brokers[each].epoch, self._endpoint_of(brokers[each]))
            for each in sorted(brokers)
            if each != self._node_id and not brokers[each].is_kafka
        ]
        controllers = self._image.controllers
        return found + [
            _Node(each, _ALWAYS_EARLIER, self._controller_endpoint(each))
            for each in sorted(controllers)
            if each not in brokers
            and each != self._node_id
            and each in voter_ids
            and not is_kafka_node(controllers[each].features)
        ]

    def _endpoint_of(self, broker: RegisteredBroker) -> Endpoint | None:
        if self._dialer.proves_secret and (found := broker.endpoint(self._listener)) is not None:
            return found
        return self._controller_endpoint(broker.broker_id)

    def _controller_endpoint(self, node_id: int) -> Endpoint | None:
        controller = self._image.controllers.get(node_id)
        if controller is None or not self._dialer.proves_secret_to_controllers:
            return None
        return next(iter(controller.endpoints), None)

    async def _agree_with(self, others: Sequence[_Node], *, is_final: bool) -> None:
        reachable = [(each.node_id, each.endpoint) for each in others if each.endpoint is not None]
        if reachable:
            await self._prove_to(reachable, is_final=is_final)
        elif self._secret.take_known():
            self._store()
        else:
            raise self._refusal(f"node {others[0].node_id} has a token")

    async def _prove_to(self, others: Sequence[tuple[int, Endpoint]], *, is_final: bool) -> None:
        """`is_final`: a failed proof stays one. Otherwise both may have registered just now."""
        deadline_ms = self._clock.monotonic_ms() + _ANSWER_MS_MAX
        reason = ""
        while self._clock.monotonic_ms() < deadline_ms:
            for node_id, endpoint in others:
                try:
                    (await self._dialer.open(endpoint)).abort()
                except NotAMember as error:
                    reason = f"node {node_id}: {error}"
                    if is_final:
                        raise self._refusal(reason) from None
                except (OSError, ProtocolError) as error:
                    reason = f"node {node_id}: {error or type(error).__name__}"
                else:
                    reason = f"node {node_id} has no token yet"
                if self._secret.value is not None:
                    self._store()
                    return
            await self._clock.sleep(_RETRY_MS)
        raise self._refusal(reason)

    def _refusal(self, reason: str) -> NotAdmitted:
        return NotAdmitted(
            f"the nodes of Penstock in this cluster share a token, which this node cannot prove ({reason}): {JOIN_HINT}"
        )
