"""Kafka's own Java client at every door. One JVM that takes its time, so only in the soak."""

import subprocess
from pathlib import Path

import pytest

from tests.interop.security.conftest import MECHANISMS, House, changed
from tests.interop.security.doors import Door
from tests.support.certificates import authority
from tests.support.plugin import require_java_client

PROGRAM = Path(__file__).parents[1] / "java" / "SecureClient.java"
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def properties(door: Door, path: Path, **more: str) -> str:
    """Writes the settings of a Java client for a door, and gives the file's name."""
    settings = {"bootstrap.servers": door.bootstrap, "security.protocol": door.protocol, **more}
    settings |= {"default.api.timeout.ms": "15000", "max.block.ms": "15000"}
    if door.protocol.endswith("SSL"):
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(door.authority)}
    if door.certificate is not None:
        settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(door.certificate)}
    if door.mechanism:
        given = {"username": door.user, "password": door.password, "token": door.token}
        quoted = {name: value.replace('"', '\\"') for name, value in given.items() if value}
        options = "".join(f' {name}="{value}"' for name, value in quoted.items())
        settings["sasl.mechanism"] = door.mechanism
        settings["sasl.jaas.config"] = f"{_MODULES.get(door.mechanism, _SCRAM)} required{options};"
    if door.token:
        settings["token"] = "shown"
    lines = [f"{name}={value}" for name, value in settings.items()]
    path.write_text("\n".join(lines).replace("\\", "\\\\"))
    return str(path)


@pytest.mark.soak
@pytest.mark.timeout(180)
def test_the_java_client_gets_in_where_it_may_and_is_told_where_it_may_not(
    house: House, tmp_path: Path
) -> None:
    class_path = require_java_client()
    other = authority("Somebody else").write_certificate(tmp_path / "other-ca.pem")
    wrong = changed(house.door("SASL_PLAINTEXT", "SCRAM-SHA-256"), password="wrong")
    expected = {
        properties(house.door("SSL"), tmp_path / "tls"): "good",
        properties(house.door("MUTUAL"), tmp_path / "mutual"): "good",
        **{
            properties(house.door("SASL_PLAINTEXT", each), tmp_path / each.lower()): "good"
            for each in MECHANISMS
        },
        properties(house.door("SASL_SSL", "SCRAM-SHA-512"), tmp_path / "sasl-ssl"): "good",
        properties(
            house.door("SHORT", "SCRAM-SHA-256"), tmp_path / "renewed", **{"send.for.ms": "3000"}
        ): "good",
        properties(wrong, tmp_path / "wrong"): "SaslAuthenticationException: Authentication failed",
        properties(changed(house.door("SSL"), authority=other), tmp_path / "unknown-ca"): (
            "SslAuthenticationException: SSL handshake failed"
        ),
        properties(
            changed(house.door("SASL_PLAINTEXT", "OAUTHBEARER"), token=house.token(expires_in_s=-60)),
            tmp_path / "expired",
        ): "SaslAuthenticationException: ",
    }
    topic = house.new_topic()
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path, str(PROGRAM), topic, *expected]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=170)
    found = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    assert found.keys() == expected.keys(), done.stderr[-3000:]
    assert not [
        (name, outcome) for name, outcome in found.items() if not outcome.startswith(expected[name])
    ], done.stderr[-3000:]
