"""One broker has a listener of each kind."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.server.live import held, running_broker
from tests.server.secured_listeners.secured import (
    AUTHORITY,
    LISTENERS,
    RECEIVE_BYTES_MAX,
    Secured,
)


@pytest.fixture(scope="module")
def secured(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("secured")
    AUTHORITY.issue().write(directory / "broker.pem")
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(
            f"{name}:{name if name != 'MUTUAL' else 'SSL'}" for name in LISTENERS
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.certificates": AUTHORITY.pem,
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=([a-z]+)$/$1/U",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.jaas.config": 'PlainLoginModule required user_alice="alice-secret";',
        "sasl.server.max.receive.size": str(RECEIVE_BYTES_MAX),
        "listener.name.sasl_ssl.connections.max.reauth.ms": "60000",
        "connection.failed.authentication.delay.ms": "1",
    }
    with held(runner, running_broker(directory / "data", settings)) as live:
        yield Secured(live, directory)
