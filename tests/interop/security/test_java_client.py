"""Kafka's own Java client with every login. The JVM is slow to start, so only in the soak."""

import subprocess
from pathlib import Path

import pytest

from tests.interop.security.conftest import MECHANISMS, SecuredBroker, changed
from tests.interop.security.logins import Login
from tests.support.certificates import authority
from tests.support.plugin import require_java_client

PROGRAM = Path(__file__).parents[1] / "java" / "SecureClient.java"
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def properties(login: Login, path: Path, **more: str) -> str:
    """Write the settings of a Java client for a login, and return the file's name."""
    settings = {"bootstrap.servers": login.bootstrap, "security.protocol": login.protocol, **more}
    settings |= {"default.api.timeout.ms": "15000", "max.block.ms": "15000"}
    if login.protocol.endswith("SSL"):
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(login.authority)}
    if login.certificate is not None:
        settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(login.certificate)}
    if login.mechanism:
        given = {"username": login.user, "password": login.password, "token": login.token}
        quoted = {name: value.replace('"', '\\"') for name, value in given.items() if value}
        options = "".join(f' {name}="{value}"' for name, value in quoted.items())
        settings["sasl.mechanism"] = login.mechanism
        settings["sasl.jaas.config"] = f"{_MODULES.get(login.mechanism, _SCRAM)} required{options};"
    if login.token:
        settings["token"] = "shown"
    lines = [f"{name}={value}" for name, value in settings.items()]
    path.write_text("\n".join(lines).replace("\\", "\\\\"))
    return str(path)


@pytest.mark.soak
@pytest.mark.timeout(180)
def test_the_java_client_logs_in_with_valid_credentials_and_reports_invalid_ones(
    secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    class_path = require_java_client()
    other = authority("Somebody else").write_certificate(tmp_path / "other-ca.pem")
    wrong = changed(secured_broker.login("SASL_PLAINTEXT", "SCRAM-SHA-256"), password="wrong")
    expected = {
        properties(secured_broker.login("SSL"), tmp_path / "tls"): "good",
        properties(secured_broker.login("MUTUAL"), tmp_path / "mutual"): "good",
        **{
            properties(secured_broker.login("SASL_PLAINTEXT", each), tmp_path / each.lower()): "good"
            for each in MECHANISMS
        },
        properties(secured_broker.login("SASL_SSL", "SCRAM-SHA-512"), tmp_path / "sasl-ssl"): "good",
        properties(
            secured_broker.login("SHORT", "SCRAM-SHA-256"), tmp_path / "renewed", **{"send.for.ms": "3000"}
        ): "good",
        properties(wrong, tmp_path / "wrong"): "SaslAuthenticationException: Authentication failed",
        properties(changed(secured_broker.login("SSL"), authority=other), tmp_path / "unknown-ca"): (
            "SslAuthenticationException: SSL handshake failed"
        ),
        properties(
            changed(
                secured_broker.login("SASL_PLAINTEXT", "OAUTHBEARER"),
                token=secured_broker.token(expires_in_s=-60),
            ),
            tmp_path / "expired",
        ): "SaslAuthenticationException: ",
    }
    topic = secured_broker.new_topic()
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path, str(PROGRAM), topic, *expected]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=170)
    found = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    assert found.keys() == expected.keys(), done.stderr[-3000:]
    assert not [
        (name, outcome) for name, outcome in found.items() if not outcome.startswith(expected[name])
    ], done.stderr[-3000:]
