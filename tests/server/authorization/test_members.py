"""Every API by {a stranger, a client that has logged in, a broker} on {plain, SASL, SASL with ACLs, allow everyone}.

The identity comes from a real connection: logged in, or with a proof of the cluster's secret, as brokers have it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from enum import Enum
from typing import Any

import pytest

from penstock.client.connection import Connection
from penstock.client.settings import SaslSettings
from penstock.security.acl_authorizer import STANDARD_AUTHORIZER
from penstock.server.broker_apis import BROKER_APIS
from penstock.server.connections import CloseConnection
from penstock.server.handlers import HANDLERS
from tests.server.authorization.document import TABLE
from tests.server.authorization.row import CLUSTER_REFUSED, Place, Row, refusals
from tests.server.authorization.test_authorization import (
    SETTINGS,
    assert_as_for_nobody,
    assert_served,
    furnished,
)
from tests.server.guarded import ADMIN, Caller, Guarded
from tests.server.live import held, running_broker

_SASL = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.jaas.config": 'PlainLoginModule required username="broker" password="b" user_broker="b" user_alice="a";',
    "connection.failed.authentication.delay.ms": "0",
}
_ACLS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": str(ADMIN)}
PLAIN, SASL, SASL_AND_ACLS, ALLOW_EVERYONE = "plain", "SASL", "SASL with ACLs", "allow everyone"
KINDS = {
    PLAIN: {},
    SASL: _SASL,
    SASL_AND_ACLS: _SASL | _ACLS,
    ALLOW_EVERYONE: _SASL | _ACLS | {"allow.everyone.if.no.acl.found": "true"},
}
_BEFORE_A_LOGIN = (17, 18)  # SaslHandshake, ApiVersions


class Who(Enum):
    STRANGER = "a stranger"
    CLIENT = "a client"
    BROKER = "a broker"


every_row = pytest.mark.parametrize("row", TABLE, ids=str)


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def place(runner: asyncio.Runner, kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with held(runner, running_broker(tmp_path_factory.mktemp("members"), SETTINGS | KINDS[kind])) as live:
        yield runner.run(furnished(Guarded(live)))


@contextlib.asynccontextmanager
async def connected(place: Place, kind: str, who: Who) -> AsyncIterator[Caller]:
    """Somebody at the end of a connection; what they send goes the way that their connection has."""
    live = place.guarded.live
    before = live.connections()
    if who is Who.BROKER:
        connection = (await live.connect_as_broker()).connection
    else:
        is_named = who is Who.CLIENT and kind != PLAIN
        login = SaslSettings(mechanism="PLAIN", username="alice", password="a") if is_named else None
        connection = await Connection.open(live.host, live.port, sasl=login)
    try:
        while not (new := live.connections() - before):
            await asyncio.sleep(0)
        (served,) = new
        caller = Caller(served._dispatcher, served.peer.principal)
        caller.peer = served.peer
        yield caller
    finally:
        connection.abort()


async def answer(place: Place, kind: str, who: Who, row: Row) -> Any:
    if row.before is not None:
        await row.before(place)
    async with connected(place, kind, who) as caller:
        return await caller.send(row.request(place), row.version)


@every_row
async def test_a_stranger(place: Place, kind: str, row: Row) -> None:
    if kind != PLAIN and row.key not in _BEFORE_A_LOGIN:
        with pytest.raises(CloseConnection):
            await answer(place, kind, Who.STRANGER, row)
        return
    responses = await answer(place, kind, Who.STRANGER, row)
    if row.is_for_brokers:
        assert refusals(responses) == {CLUSTER_REFUSED}
    else:
        assert_served(row, responses)


@every_row
async def test_a_client(place: Place, kind: str, row: Row) -> None:
    responses = await answer(place, kind, Who.CLIENT, row)
    if kind == SASL_AND_ACLS or row.is_for_brokers:
        assert_as_for_nobody(row, responses)
    else:
        assert_served(row, responses)


@every_row
async def test_a_broker(place: Place, kind: str, row: Row) -> None:
    assert_served(row, await answer(place, kind, Who.BROKER, row))


def test_every_api_has_a_row_and_every_internal_one_is_for_brokers() -> None:
    """A new API states who may use it, here and in `broker_apis`."""
    assert set(HANDLERS) - {each.key for each in TABLE} == set()
    assert {each.key for each in TABLE if each.is_for_brokers} == set(BROKER_APIS)
    assert {key for key, each in HANDLERS.items() if each.is_internal} <= set(BROKER_APIS)
