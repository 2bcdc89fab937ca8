from pathlib import Path

import pytest

from penstock.cli.connect.settings import read_settings, to_librdkafka
from penstock.cli.errors import CommandError


def test_files_and_single_settings_count_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# of Kafka's tools\nsecurity.protocol = SASL_SSL\nsasl.mechanism=PLAIN\n")
    assert read_settings(["security.protocol=SSL", str(path), "sasl.mechanism=SCRAM-SHA-256"]) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
    }
    strange = tmp_path / "a=b"
    strange.write_text("c=d")
    assert read_settings([str(strange)]) == {"c": "d"}


@pytest.mark.parametrize("given", ["no-such-file", "=x"])
def test_an_argument_that_is_neither_a_file_nor_a_setting_is_refused(given: str) -> None:
    with pytest.raises(CommandError, match=r"-X '.*' is n"):
        read_settings([given])


def test_a_file_of_kafkas_tools_is_translated_to_librdkafka() -> None:
    assert to_librdkafka(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": 'x.ScramLoginModule required username="al\\"ice" password="s=1;";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/ca.pem",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/alice.pem",
            "ssl.key.password": "p",
            "ssl.endpoint.identification.algorithm": "",
        }
    ) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": 'al"ice',
        "sasl.password": "s=1;",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/alice.pem",
        "ssl.key.location": "/alice.pem",
        "ssl.key.password": "p",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_librdkafkas_own_names_and_pkcs12_stay() -> None:
    own = {"sasl.username": "a", "ssl.ca.location": "/ca.pem", "ssl.keystore.location": "/a.p12"}
    assert to_librdkafka({**own, "ssl.keystore.type": "PKCS12"}) == own


def test_a_jks_store_is_refused() -> None:
    with pytest.raises(CommandError, match="convert it to PEM"):
        to_librdkafka({"ssl.truststore.type": "JKS", "ssl.truststore.location": "x"})


def test_a_token_is_given_to_librdkafka_when_it_asks() -> None:
    settings = to_librdkafka({"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token": "t.o.k"})
    callback = settings["oauth_cb"]
    assert callable(callback)
    assert callback("")[0] == "t.o.k"
