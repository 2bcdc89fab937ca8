"""Kafka's property names become settings; unusable values are refused by name."""

import pytest

from penstock.client.errors import SettingsError
from penstock.client.settings import ClientSettings, SaslSettings, TlsSettings


def settings(**properties: str) -> ClientSettings:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return ClientSettings.from_properties({"bootstrap.servers": "a:1", **named})


def test_addresses_may_name_a_listener_an_ipv6_host_or_no_port() -> None:
    found = ClientSettings.from_properties({"bootstrap.servers": "a:1, SSL://b:2,[::1]:3,[::1],c"})
    assert found.bootstrap_servers == (("a", 1), ("b", 2), ("::1", 3), ("::1", 9092), ("c", 9092))


@pytest.mark.parametrize("text", ["", " , ", "a:b", ":9", "a:0", "a:70000"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"bootstrap\.servers"):
        ClientSettings.from_properties({"bootstrap.servers": text})


def test_unknown_properties_are_ignored_and_known_ones_read() -> None:
    found = settings(
        some_plugin="x", request_timeout_ms="5", fetch_min_bytes="7", isolation_level="READ_COMMITTED"
    )
    assert (found.request_timeout_ms, found.fetch_min_bytes, found.reads_committed_only) == (5, 7, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("request_timeout_ms", "soon"),
        ("request_timeout_ms", "0"),
        ("fetch_max_bytes", "99999999999"),
        ("isolation_level", "read_everything"),
        ("security_protocol", "KERBEROS"),
    ],
)
def test_a_wrong_value_is_refused_with_the_propertys_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name.replace("_", ".")):
        settings(**{name: value})


def test_tls_takes_pem_by_kafkas_and_by_librdkafkas_names() -> None:
    kafka = settings(
        security_protocol="ssl",
        ssl_truststore_location="/ca.pem",
        ssl_truststore_type="PEM",
        ssl_keystore_location="/me.pem",
        ssl_endpoint_identification_algorithm="",
    )
    assert kafka.tls == TlsSettings(
        ca_location="/ca.pem", certificate_location="/me.pem", checks_host_name=False
    )
    librdkafka = settings(
        security_protocol="SSL",
        ssl_ca_location="/ca.pem",
        ssl_certificate_location="/me.pem",
        ssl_key_location="/me.key",
    )
    assert librdkafka.tls == TlsSettings(
        ca_location="/ca.pem", certificate_location="/me.pem", key_location="/me.key"
    )
    assert settings(ssl_ca_location="/ca.pem").tls is None


def test_a_java_key_store_is_refused_with_an_alternative() -> None:
    with pytest.raises(SettingsError, match=r"ssl\.truststore\.type=JKS .* PEM"):
        settings(security_protocol="SSL", ssl_truststore_location="/x.jks", ssl_truststore_type="JKS")


def test_users_are_read_from_a_jaas_line_or_from_their_own_properties() -> None:
    jaas = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        r'username="alice" password="a\"b\\c";'
    )
    found = settings(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-512", sasl_jaas_config=jaas
    )
    assert found.sasl == SaslSettings(mechanism="SCRAM-SHA-512", username="alice", password='a"b\\c')
    assert found.tls is None
    found = settings(
        security_protocol="SASL_SSL", sasl_mechanism="plain", sasl_username="bob", sasl_password="x"
    )
    assert found.sasl == SaslSettings(mechanism="PLAIN", username="bob", password="x")
    assert found.tls == TlsSettings()


@pytest.mark.parametrize("properties", [{}, {"sasl_mechanism": "GSSAPI"}, {"sasl_mechanism": "OAUTHBEARER"}])
def test_an_incomplete_or_unknown_sasl_setup_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="sasl"):
        settings(security_protocol="SASL_PLAINTEXT", **properties)


def test_secrets_are_not_in_the_representation_of_settings() -> None:
    found = settings(
        security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_username="bob", sasl_password="hunter2"
    )
    assert "hunter2" not in repr(found)
    assert "bob" in repr(found)
