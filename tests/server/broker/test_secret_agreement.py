"""The nodes of Penstock in a mixed cluster agree on its secret; the other nodes are played."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from penstock.client.connection import Connection
from penstock.cluster.lifecycle import NotAdmitted
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import REGISTERED_FEATURES, RegisteredBroker, RegisteredController
from penstock.config.listeners import Endpoint
from penstock.runtime.clock import ManualClock
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.dialer import Dialer, NotAMember
from penstock.server.broker.secret_agreement import SecretAgreement

KAFKA = {"metadata.version": (7, 30)}
TOKEN = bytes(32)


class PlayedDialer:
    """The other node has the token, after `refusals` attempts; or it is down."""

    def __init__(
        self,
        secret: ClusterSecret,
        *,
        refusals: int = 0,
        is_down: bool = False,
        proves_secret: bool = True,
        proves_secret_to_controllers: bool = True,
    ) -> None:
        self._secret = secret
        self.proves_secret, self.proves_secret_to_controllers = proves_secret, proves_secret_to_controllers
        self._refusals = refusals
        self._is_down = is_down
        self.dialed: list[int] = []

    async def open(self, endpoint: Endpoint) -> Connection:
        self.dialed.append(endpoint.port)
        if self._is_down:
            raise ConnectionRefusedError("refused")
        if self._refusals > 0:
            self._refusals -= 1
            raise NotAMember("the token is not known here")
        self._secret.value = TOKEN
        return cast("Connection", self)

    def abort(self) -> None: ...


class Stage:
    def __init__(self, token_on_host: bytes | None = None, **dialer: Any) -> None:
        self.secret = ClusterSecret(random.Random(1), find=lambda _: token_on_host)
        self.secret.cluster_id = "cluster"
        self.dialer = PlayedDialer(self.secret, **dialer)
        self.image = MetadataImage("cluster")
        self.clock = ManualClock()
        self.stored: list[bytes | None] = []
        self.agreement = SecretAgreement(
            11,
            self.secret,
            self.image,
            cast("Dialer", self.dialer),
            self.clock,
            listener="PLAINTEXT",
            voter_ids=lambda: {1, 12, 13},
            store=lambda: self.stored.append(self.secret.value),
        )

    def register(self, broker_id: int, features: dict[str, tuple[int, int]], *, epoch: int = 1) -> None:
        endpoint = Endpoint(name="PLAINTEXT", host="h", port=broker_id, security_protocol="PLAINTEXT")
        self.image.brokers[broker_id] = RegisteredBroker(
            broker_id=broker_id,
            epoch=epoch,
            incarnation_id=bytes(16),
            endpoints=(endpoint,),
            rack=None,
            fenced=False,
            features=features,
        )

    def register_controller(self, number: int, features: dict[str, tuple[int, int]]) -> None:
        endpoint = Endpoint(name="CONTROLLER", host="h", port=100 + number, security_protocol="PLAINTEXT")
        self.image.controllers[number] = RegisteredController(
            controller_id=number, incarnation_id=bytes(16), endpoints=(endpoint,), features=features
        )

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run with a clock that goes on whenever the work waits."""

        async def all_of_it() -> None:
            task = asyncio.ensure_future(work)
            while not task.done():
                await asyncio.sleep(0)
                self.clock.advance(50)
            await task

        asyncio.run(all_of_it())


def test_the_first_node_of_penstock_makes_the_secret_after_it_has_registered() -> None:
    stage = Stage()
    stage.register(1, KAFKA)
    stage.run(stage.agreement.obtain())
    assert stage.stored == []
    stage.register(11, dict(REGISTERED_FEATURES), epoch=5)
    stage.run(stage.agreement.complete(5))
    (made,) = stage.stored
    assert made is not None
    assert made == stage.secret.value
    assert stage.dialer.dialed == []


def test_a_later_node_gets_the_secret_before_it_registers() -> None:
    stage = Stage()
    stage.register(1, KAFKA)
    stage.register(12, dict(REGISTERED_FEATURES))
    stage.run(stage.agreement.obtain())
    assert stage.stored == [TOKEN]
    assert stage.dialer.dialed == [12]


def test_a_later_node_without_the_token_is_not_admitted() -> None:
    stage = Stage(refusals=1)
    stage.register(12, dict(REGISTERED_FEATURES))
    with pytest.raises(NotAdmitted, match=r"node 12: the token is not known here.*penstock cluster token"):
        stage.run(stage.agreement.obtain())
    assert stage.stored == []


def test_a_later_node_is_not_admitted_while_no_other_node_of_penstock_answers() -> None:
    stage = Stage(is_down=True)
    stage.register(12, dict(REGISTERED_FEATURES))
    with pytest.raises(NotAdmitted, match="node 12: refused"):
        stage.run(stage.agreement.obtain())


def test_of_two_nodes_that_register_together_the_first_makes_the_secret() -> None:
    """The second waits for it."""
    stage = Stage(refusals=3)
    stage.register(12, dict(REGISTERED_FEATURES), epoch=4)
    stage.register(13, dict(REGISTERED_FEATURES), epoch=9)
    stage.run(stage.agreement.complete(5))
    assert stage.stored == [TOKEN]
    assert set(stage.dialer.dialed) == {12}


def test_a_node_with_the_secret_asks_nobody() -> None:
    stage = Stage()
    stage.secret.value = TOKEN
    stage.register(12, dict(REGISTERED_FEATURES))
    stage.run(stage.agreement.obtain())
    stage.run(stage.agreement.complete(5))
    assert stage.dialer.dialed == []
    assert stage.stored == []


def test_a_later_node_proves_the_secret_to_a_controller_that_is_no_broker() -> None:
    stage = Stage()
    stage.register_controller(1, KAFKA)
    stage.register_controller(12, dict(REGISTERED_FEATURES))
    stage.run(stage.agreement.obtain())
    assert stage.stored == [TOKEN]
    assert stage.dialer.dialed == [112]


def test_a_controller_that_is_no_voter_any_more_is_not_asked() -> None:
    stage = Stage(is_down=True)
    stage.register_controller(14, dict(REGISTERED_FEATURES))
    stage.run(stage.agreement.obtain())
    stage.run(stage.agreement.complete())
    assert len(stage.stored) == 1
    assert stage.dialer.dialed == []


def test_where_only_the_controllers_listener_asks_for_no_login_the_secret_is_proved_there() -> None:
    stage = Stage(proves_secret=False)
    stage.register(12, dict(REGISTERED_FEATURES))
    stage.register_controller(12, dict(REGISTERED_FEATURES))
    stage.run(stage.agreement.obtain())
    assert stage.dialer.dialed == [112]


def test_where_no_earlier_node_takes_proofs_a_later_one_needs_the_token() -> None:
    stage = Stage(proves_secret=False)
    stage.register(12, dict(REGISTERED_FEATURES))
    with pytest.raises(NotAdmitted, match=r"node 12 has a token.*penstock cluster token"):
        stage.run(stage.agreement.obtain())


def test_where_no_earlier_node_takes_proofs_the_token_of_the_host_is_taken() -> None:
    stage = Stage(TOKEN, proves_secret=False)
    stage.register(12, dict(REGISTERED_FEATURES))
    stage.run(stage.agreement.obtain())
    assert stage.stored == [TOKEN]
