"""One broker with a listener of each kind, and the clients that connect to it."""

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from tests.interop.clients.javascript import NodeProcess
from tests.interop.security.clients import KafkaJs, RoundTrip, aiokafka, confluent, kafka_python
from tests.interop.security.logins import Login
from tests.support.broker import BrokerProcess, free_port
from tests.support.certificates import Certificate, authority
from tools.setup_interop import NODE

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",  # logins hold for little more than a second
}
USER, PASSWORD = "alice", 'a "secret", = of alice'


class SecuredBroker:
    """The broker, and the credentials of its clients."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.issuer: Certificate = authority()
        self.authority = self.issuer.write_certificate(directory / "ca.pem")
        self.certificate = self.issuer.issue(name=USER).write(directory / "alice.pem")
        self._signer = ECKey.generate_key("P-256", {"kid": "one"}, private=True)
        self._ports = {name: free_port() for name in PROTOCOLS}
        self._numbers = itertools.count()
        self.broker = BrokerProcess(
            directory / "broker",
            port=self._ports["PLAINTEXT"],
            settings=self._settings(),
            arguments=[
                "--listen",
                ",".join(f"{name}://127.0.0.1:{port}" for name, port in self._ports.items()),
            ],
        )

    def _settings(self) -> dict[str, str]:
        keys = self.directory / "keys.json"
        keys.write_text(json.dumps(KeySet([self._signer]).as_dict(private=False)))
        broker = self.issuer.issue().write(self.directory / "broker.pem")
        password = PASSWORD.replace('"', '\\"')
        return {
            "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in PROTOCOLS.items()),
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.location": str(broker),
            "ssl.truststore.location": str(self.authority),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.short.connections.max.reauth.ms": "1200",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "sasl.jaas.config": f'PlainLoginModule required user_{USER}="{password}";',
            "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
            "sasl.oauthbearer.expected.audience": "penstock",
            "sasl.oauthbearer.expected.issuer": "https://issuer.example",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": "1",
        }

    def add_user(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(mechanism, 4096)
            change = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
            admin.alter_user_scram_credentials([change])[USER].result(30)

    def new_topic(self) -> str:
        name = f"topic-{next(self._numbers)}"
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
        return name

    def token(self, expires_in_s: float = 600) -> str:
        now = int(time.time())
        claims = {
            "sub": USER,
            "iss": "https://issuer.example",
            "aud": "penstock",
            "iat": now - 3600,
            "exp": now + int(expires_in_s),
        }
        return jwt.encode({"alg": "ES256", "kid": "one"}, claims, self._signer)

    def login(self, listener: str, mechanism: str = "") -> Login:
        """A valid login."""
        return Login(
            protocol=PROTOCOLS[listener],
            bootstrap=f"127.0.0.1:{self._ports[listener]}",
            authority=self.authority,
            certificate=self.certificate if listener == "MUTUAL" else None,
            mechanism=mechanism,
            user=USER if mechanism and mechanism != "OAUTHBEARER" else "",
            password=PASSWORD if mechanism and mechanism != "OAUTHBEARER" else "",
            token=self.token() if mechanism == "OAUTHBEARER" else "",
        )


@pytest.fixture(scope="session")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    made = SecuredBroker(tmp_path_factory.mktemp("secured_broker"))
    made.broker.start()
    try:
        made.add_user()
        yield made
    finally:
        made.broker.stop()


@pytest.fixture(scope="session")
def clients(secured_broker: SecuredBroker) -> Iterator[dict[str, RoundTrip]]:
    node = NodeProcess(str(NODE), "security.js", secured_broker.broker.bootstrap)
    yield {
        "confluent-kafka": confluent,
        "aiokafka": aiokafka,
        "kafka-python": kafka_python,
        "kafkajs": KafkaJs(node),
    }
    node.close()


def changed(login: Login, **changes: object) -> Login:
    return msgspec.structs.replace(login, **changes)
