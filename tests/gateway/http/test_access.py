"""HTTP requests act as the user that they name, with that user's rights, over TLS and SASL."""

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from penstock.client.aio import CONTROLLER, Client, with_password
from penstock.config.broker import BrokerConfig
from penstock.console.api import session
from penstock.gateway.http.access import kafka_access
from penstock.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from penstock.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from penstock.security.acl_authorizer import STANDARD_AUTHORIZER
from penstock.security.login_limit import FAILURES_MAX
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.security.scram_credentials import ScramMechanism
from penstock.security.tls.contexts import server_context
from penstock.security.tls.material import material_of
from penstock.server.listeners import advertised_endpoints
from tests.gateway.http.admin import Admin, admin_of
from tests.security.tls.test_material import shake_hands
from tests.server.live import held, running_broker
from tests.support.certificates import authority

ALLOW = 3
SIGNER = ECKey.generate_key("P-256", {"kid": "one"}, private=True)
OTHER = ECKey.generate_key("P-256", {"kid": "one"}, private=True)
USERS = ("root", "ann", "bob")
SETTINGS = {
    "listeners": "SECURE://127.0.0.1:0",
    "advertised.listeners": "SECURE://localhost:0",
    "listener.security.protocol.map": "SECURE:SASL_SSL",
    "inter.broker.listener.name": "SECURE",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.secure.plain.sasl.jaas.config": (
        'PlainLoginModule required username="root" password="of root" '
        + " ".join(f'user_{name}="of {name}"' for name in USERS)
        + ";"
    ),
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:root",
    "connection.failed.authentication.delay.ms": "0",
}


@pytest.fixture(scope="module")
def guarded(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    """A broker with TLS, SASL and ACLs: ann may write and read the topic `t`, bob may do nothing."""
    directory = tmp_path_factory.mktemp("guarded")

    @contextlib.asynccontextmanager
    async def served() -> AsyncIterator[Admin]:
        certificate = authority().issue().write(directory / "broker.pem")
        keys = directory / "keys.json"
        keys.write_text(json.dumps(KeySet([SIGNER]).as_dict(private=False)))
        settings = SETTINGS | {
            "ssl.keystore.location": str(certificate),
            "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        }
        async with running_broker(directory / "data", settings) as live:
            broker = live.broker
            config = broker.services.config
            access = kafka_access(config, advertised_endpoints(broker.endpoints, config.advertised_listeners))
            security = with_password("root", "of root", access.tls)
            async with (
                admin_of(broker) as url,
                aiohttp.ClientSession(url) as http,
                Client(f"localhost:{live.port}", security=security) as kafka,
            ):
                await _prepare(kafka)
                yield Admin(url, http, kafka, broker)

    (directory / "data").mkdir()
    with held(runner, served()) as admin:
        yield admin


async def _prepare(kafka: Client) -> None:
    await kafka.create_topic("t", partitions=1)
    wanted = [
        (ResourceType.TOPIC, "t", Operation.WRITE),
        (ResourceType.TOPIC, "t", Operation.READ),
        (ResourceType.GROUP, "anns", Operation.READ),
    ]
    creations = [
        AclCreation(
            resource_type=kind,
            resource_name=name,
            principal="User:ann",
            host="*",
            operation=operation,
            permission_type=ALLOW,
        )
        for kind, name, operation in wanted
    ]
    answer = await kafka.request(CONTROLLER, CreateAclsRequest(creations=creations))
    assert not any(each.error_code for each in answer.results)
    await set_password(kafka, "sam", b"of sam")


async def set_password(kafka: Client, user: str, password: bytes) -> None:
    salt = b"a salt for the test"
    wanted = ScramCredentialUpsertion(
        name=user,
        mechanism=ScramMechanism.SCRAM_SHA_256,
        iterations=4096,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac("sha256", password, salt, 4096),
    )
    answer = await kafka.request(CONTROLLER, AlterUserScramCredentialsRequest(upsertions=[wanted]))
    assert not any(each.error_code for each in answer.results)


def as_user(name: str, password: str | None = None) -> dict[str, str]:
    return {"Authorization": aiohttp.encode_basic_auth(name, password or f"of {name}")}


async def test_a_request_without_credentials_gets_a_challenge(guarded: Admin) -> None:
    async with guarded.http.get("/topics/t/records") as answer:
        assert answer.status == 401
        assert "Basic" in answer.headers["WWW-Authenticate"]
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert (await guarded.http.get(path)).status == 200


@pytest.mark.parametrize(("name", "password"), [("ann", "wrong"), ("nobody", "of nobody")])
async def test_a_wrong_user_and_a_wrong_password_get_the_same_answer(
    guarded: Admin, name: str, password: str
) -> None:
    status, problem = await guarded.get("/topics/t/records", **as_user(name, password))
    assert (status, problem["kafka_error"]) == (401, "SASL_AUTHENTICATION_FAILED")
    assert name not in problem["detail"]
    assert password not in problem["detail"]


async def test_a_user_may_do_what_the_acls_allow(guarded: Admin) -> None:
    ann = as_user("ann")
    status, answer = await guarded.post("/topics/t/records", {"records": [{"value": "x"}]}, **ann)
    assert (status, answer["records"][0]["partition"]) == (200, 0)
    status, answer = await guarded.get("/topics/t/records?offset=-1", **ann)
    assert (status, [each["value"] for each in answer["records"]]) == (200, ["x"])


async def test_a_user_may_do_no_more_than_the_acls_allow(guarded: Admin) -> None:
    bob = as_user("bob")
    for answer in (
        await guarded.get("/topics/t/records", **bob),
        await guarded.get("/topics/t/stream", **bob),
        await guarded.post("/topics/t/records", {"records": [{"value": "x"}]}, **bob),
    ):
        status, problem = answer
        assert (status, problem["kafka_error"]) == (403, "TOPIC_AUTHORIZATION_FAILED")
        assert "ACL" in problem["detail"]


async def test_a_scram_user_is_accepted_too(guarded: Admin) -> None:
    assert (await guarded.get("/topics/t/records", **as_user("sam")))[0] == 403
    assert (await guarded.get("/topics/t/records", **as_user("sam", "wrong")))[0] == 401


async def test_a_request_with_a_token_acts_as_its_user(guarded: Admin) -> None:
    for key, expected in ((SIGNER, 200), (OTHER, 401)):
        claims = {"sub": "ann", "iat": int(time.time()), "exp": int(time.time()) + 600}
        token = jwt.encode({"alg": "ES256", "kid": "one"}, claims, key)
        status, _ = await guarded.get("/topics/t/records", Authorization=f"Bearer {token}")
        assert status == expected


async def _joining(guarded: Admin, group: str, name: str) -> Any:
    return await guarded.http.ws_connect(f"/groups/{group}/subscribe?topics=t", headers=as_user(name))


async def test_a_group_that_a_user_may_not_read_cannot_be_joined(guarded: Admin) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await _joining(guarded, "others", "ann")
    assert refused.value.status == 403
    async with await _joining(guarded, "anns", "ann") as socket:
        assert (await socket.receive_json())["type"] == "joined"


def test_the_gateway_does_not_send_the_brokers_own_certificate(tmp_path: Path) -> None:
    """Otherwise every user would be the broker on a listener that knows clients by their certificates."""
    ca = authority()
    config = BrokerConfig(
        {
            "listeners": "SSL://localhost:1",
            "security.inter.broker.protocol": "SSL",
            "ssl.client.auth": "requested",
            "ssl.keystore.location": str(ca.issue().write(tmp_path / "broker.pem")),
            "ssl.truststore.certificates": ca.pem,
        }
    )
    access = kafka_access(config, {each.name: each for each in config.listeners})
    assert not access.needs_login
    assert access.tls is not None
    server = shake_hands(server_context(material_of(config, "SSL")), access.tls)
    assert server.getpeercert() is None


async def test_a_changed_password_applies_to_the_next_request(guarded: Admin) -> None:
    await set_password(guarded.kafka, "eve", b"of eve")

    async def status(password: str) -> int:
        async with guarded.http.get("/topics/t/records", headers=as_user("eve", password)) as answer:
            return answer.status

    assert await status("of eve") == 403
    await set_password(guarded.kafka, "eve", b"another")
    assert (await status("of eve"), await status("another")) == (401, 403)


async def test_an_address_that_guesses_passwords_is_refused_after_ten(
    guarded: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a port of its own: the limit holds for a minute."""
    async with admin_of(guarded.broker) as url, aiohttp.ClientSession(url) as http:

        async def guess(number: int) -> aiohttp.ClientResponse:
            return await http.get("/topics/t/records", headers=as_user("ann", f"guess {number}"))

        answers = await asyncio.gather(*(guess(number) for number in range(FAILURES_MAX + 5)))
        assert sorted(each.status for each in answers) == [401] * FAILURES_MAX + [429] * 5
        assert all(int(each.headers["Retry-After"]) > 0 for each in answers if each.status == 429)
        monkeypatch.setattr(session, "_FAILURE_DELAY_S", 0.0)
        login = {"username": "ann", "password": "wrong"}
        posts = (http.post("/console/api/login", json=login) for _ in range(FAILURES_MAX + 1))
        assert sorted(each.status for each in await asyncio.gather(*posts)) == [401] * FAILURES_MAX + [429]
