"""A mirror whose source requires a login; its password is in no response and no line of the log."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.cli.connect.requests import RequestClient
from penstock.client.mirrors import CLIENT, RESOURCE_TYPE
from penstock.embedded import Cluster
from penstock.protocol.messages import describe_configs
from tests.mirror.stage import Operator
from tests.mirror.test_mirror_between_clusters import QUICK, values_of
from tests.support.broker import BrokerProcess, free_port
from tests.support.certificates import authority

PASSWORD = "hunter2-7f31"


class SecuredSource:
    """A broker that talks to clients by SASL_SSL only, with a certificate of a private authority."""

    def __init__(self, directory: Path) -> None:
        issuer = authority()
        self.authority = issuer.write_certificate(directory / "ca.pem")
        plain, sasl = free_port(), free_port()
        self.address = f"127.0.0.1:{sasl}"
        settings = {
            "ssl.keystore.location": str(issuer.issue().write(directory / "key.pem")),
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.jaas.config": f'PlainLoginModule required user_mirror="{PASSWORD}";',
            "inter.broker.listener.name": "PLAINTEXT",
        }
        listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL_SSL://{self.address}"
        self.broker = BrokerProcess(
            directory / "source", port=plain, settings=settings, arguments=["--listen", listeners]
        )

    def properties(self, password: str) -> dict[str, str]:
        """As Kafka's own tools read them."""
        jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{jaas} username="mirror" password="{password}";',
        }


@pytest.fixture
def source(tmp_path: Path) -> Iterator[SecuredSource]:
    secured = SecuredSource(tmp_path)
    secured.broker.start()
    yield secured
    secured.broker.kill()


def written(path: Path, properties: dict[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return str(path)


def test_a_mirror_logs_in_and_keeps_its_password_secret(
    source: SecuredSource, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    right = written(tmp_path / "source.properties", source.properties(PASSWORD))
    wrong = written(tmp_path / "wrong.properties", source.properties("wrong"))
    producer = Producer({"bootstrap.servers": source.broker.bootstrap})
    producer.produce("orders", b"one")
    assert producer.flush(30) == 0
    with Cluster(1, config=QUICK) as target:
        operator = Operator(target.bootstrap_servers)
        create = ("create", "m", "--from", source.address, "--topics", "orders", "--command-config")
        assert "rejected user 'mirror'" in operator.fail(*create, wrong)
        operator.run(*create, right)
        source.authority.unlink()  # the certificate is in the settings of the mirror
        described = operator.await_level(1)
        assert values_of(target, "orders") == [b"one"]
        assert PASSWORD not in json.dumps(described)
        assert_hidden(target)
    assert PASSWORD not in caplog.text


def assert_hidden(target: Cluster) -> None:
    d = describe_configs
    resource = d.DescribeConfigsResource(
        resource_type=RESOURCE_TYPE, resource_name="m", configuration_keys=None
    )
    with RequestClient(target.bootstrap_servers) as client:
        response = client.ask_broker(1, d.DescribeConfigsRequest(resources=[resource]))
    (found,) = [each for each in response.results[0].configs if each.name == CLIENT]
    assert (found.value, found.is_sensitive) == (None, True)
    assert PASSWORD not in repr(response)
