"""How the nodes of Penstock in a mixed cluster agree on its secret, before it is required (ADR 23).

The first node makes it. Every later one proves it to an earlier one, or is not admitted.
"""

from collections.abc import Callable, Sequence

from penstock.cluster.lifecycle import NotAdmitted
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import RegisteredBroker
from penstock.protocol.errors import ProtocolError
from penstock.runtime.clock import Clock
from penstock.security.cluster_secret import JOIN_HINT, ClusterSecret
from penstock.security.dialer import Dialer, NotAMember

_ANSWER_MS_MAX = 10_000
_RETRY_MS = 100


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
        store: Callable[[], None],
    ) -> None:
        """`listener` is the brokers'; `store` saves the secret."""
        self._node_id = node_id
        self._secret = secret
        self._image = image
        self._dialer = dialer
        self._clock = clock
        self._listener = listener
        self._store = store

    async def obtain(self) -> None:
        """Prove the secret to a node of Penstock that is registered, if there is any. Raises `NotAdmitted`."""
        others = self._others()
        if self._secret.value is None and others:
            await self._prove_to(others, is_final=True)

    async def complete(self, broker_epoch: int) -> None:
        """Make the secret, unless a node of Penstock was registered before this one. Raises `NotAdmitted`."""
        if self._secret.value is not None:
            return
        earlier = [each for each in self._others() if each.epoch < broker_epoch]
        if earlier:
            await self._prove_to(earlier, is_final=False)
        else:
            self._secret.make()
            self._store()

    def _others(self) -> list[RegisteredBroker]:
        brokers = self._image.brokers
        return [
            brokers[each] for each in sorted(brokers) if each != self._node_id and not brokers[each].is_kafka
        ]

    async def _prove_to(self, others: Sequence[RegisteredBroker], *, is_final: bool) -> None:
        """`is_final`: a failed proof stays one. Otherwise both may have registered just now."""
        deadline_ms = self._clock.monotonic_ms() + _ANSWER_MS_MAX
        reason = ""
        while self._clock.monotonic_ms() < deadline_ms:
            for other in others:
                try:
                    await self._connect(other)
                except NotAMember as error:
                    reason = f"node {other.broker_id}: {error}"
                    if is_final:
                        raise self._refusal(reason) from None
                except (OSError, ProtocolError) as error:
                    reason = f"node {other.broker_id}: {error or type(error).__name__}"
                else:
                    reason = f"node {other.broker_id} has no token yet"
                if self._secret.value is not None:
                    self._store()
                    return
            await self._clock.sleep(_RETRY_MS)
        raise self._refusal(reason)

    async def _connect(self, other: RegisteredBroker) -> None:
        endpoint = other.endpoint(self._listener)
        if endpoint is None:
            raise ConnectionError(f"it has no listener {self._listener}")
        connection = await self._dialer.open(endpoint)
        connection.abort()

    def _refusal(self, reason: str) -> NotAdmitted:
        return NotAdmitted(
            f"the nodes of Penstock in this cluster share a token, which this node cannot prove ({reason}): {JOIN_HINT}"
        )
