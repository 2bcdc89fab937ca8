import ssl
import tempfile
from pathlib import Path

import pytest

from penstock.config.broker import BrokerConfig
from penstock.security.tls.contexts import client_context, openssl_name, server_context
from penstock.security.tls.material import TlsUnusable, material_of
from tests.support.certificates import authority

AUTHORITY = authority()
BROKER = AUTHORITY.issue()


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost") -> ssl.SSLObject:
    """A whole handshake in memory; returns the server's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    waiting = [theirs, ours]
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
        if not waiting:
            try:
                ours.read(1)
            except ssl.SSLWantReadError:
                return ours
    raise AssertionError("the handshake does not come to an end")


def settings(**values: str | Path) -> BrokerConfig:
    return BrokerConfig({f"ssl.{name.replace('_', '.')}": str(value) for name, value in values.items()})


def contexts(config: BrokerConfig, listener: str = "SSL") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    material = material_of(config, listener)
    return server_context(material), client_context(material)


def test_key_and_authority_are_read_from_pem_files(tmp_path: Path) -> None:
    config = settings(
        keystore_location=BROKER.write(tmp_path / "broker.pem"),
        truststore_location=AUTHORITY.write_certificate(tmp_path / "ca.pem"),
        client_auth="required",
    )
    side = shake_hands(*contexts(config))
    assert side.getpeercert() is not None  # the client context sends the broker's own certificate


def test_an_encrypted_key_needs_its_password(tmp_path: Path) -> None:
    location = BROKER.write(tmp_path / "broker.pem", "hush")
    ca = AUTHORITY.write_certificate(tmp_path / "ca.pem")
    shake_hands(*contexts(settings(keystore_location=location, key_password="hush", truststore_location=ca)))
    for password in ({}, {"key_password": "wrong-one"}):
        with pytest.raises(TlsUnusable) as error:
            contexts(settings(keystore_location=location, truststore_location=ca, **password))
        assert "broker.pem" in str(error.value)
        assert "wrong-one" not in str(error.value)


@pytest.mark.parametrize("as_one_line", [False, True])
@pytest.mark.parametrize("password", [None, "hush"])
def test_key_and_authority_are_read_from_the_settings_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_one_line: bool, password: str | None
) -> None:
    def written(pem: str) -> str:
        return " ".join(pem.split("\n")).strip() if as_one_line else pem

    config = settings(
        keystore_key=written(BROKER.key_pem(password)),
        keystore_certificate_chain=written(BROKER.pem),
        truststore_certificates=written(AUTHORITY.pem),
        **({"key_password": password} if password else {}),
    )
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shake_hands(*contexts(config))
    assert list(tmp_path.iterdir()) == []  # the key file no longer exists


def test_key_and_authority_are_read_from_pkcs12_files(tmp_path: Path) -> None:
    config = settings(
        keystore_type="PKCS12",
        keystore_location=BROKER.write_pkcs12(tmp_path / "broker.p12", "hush"),
        keystore_password="hush",
        truststore_type="PKCS12",
        truststore_location=AUTHORITY.write_pkcs12(tmp_path / "ca.p12", "hush"),
        truststore_password="hush",
    )
    shake_hands(*contexts(config))


def test_a_wrong_password_of_a_pkcs12_file_is_reported(tmp_path: Path) -> None:
    location = BROKER.write_pkcs12(tmp_path / "broker.p12", "hush")
    with pytest.raises(TlsUnusable, match=r"broker\.p12.*ssl\.keystore\.password is not its password"):
        contexts(settings(keystore_type="PKCS12", keystore_location=location, keystore_password="wrong"))


def test_a_jks_file_is_refused_with_the_command_to_convert_it(tmp_path: Path) -> None:
    with pytest.raises(TlsUnusable, match="keytool -importkeystore") as error:
        contexts(settings(keystore_type="JKS", keystore_location=tmp_path / "broker.jks"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["", "nothing of the kind", AUTHORITY.pem])
def test_a_file_without_a_key_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / "broker.pem").write_text(content)
    with pytest.raises(TlsUnusable, match=r"broker\.pem: OpenSSL cannot use it"):
        contexts(settings(keystore_location=tmp_path / "broker.pem"))


def test_a_key_of_another_certificate_is_reported(tmp_path: Path) -> None:
    (tmp_path / "broker.pem").write_text(AUTHORITY.issue().key_pem() + BROKER.pem)
    with pytest.raises(TlsUnusable, match="key values mismatch"):
        contexts(settings(keystore_location=tmp_path / "broker.pem"))


def test_a_missing_setting_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TlsUnusable, match=r"set ssl\.keystore\.location"):
        contexts(settings())
    with pytest.raises(TlsUnusable, match="No such file"):
        contexts(settings(keystore_location=tmp_path / "broker.pem"))
    with pytest.raises(TlsUnusable, match="go together"):
        contexts(settings(keystore_key=BROKER.key_pem()))
    with pytest.raises(TlsUnusable, match=r"ca\.pem: No such file"):
        contexts(
            settings(
                keystore_location=BROKER.write(tmp_path / "broker.pem"),
                truststore_location=tmp_path / "ca.pem",
                client_auth="requested",
            )
        )


def test_a_listener_has_its_own_settings(tmp_path: Path) -> None:
    other = AUTHORITY.issue(name="inside")
    config = BrokerConfig(
        {
            "ssl.keystore.location": str(BROKER.write(tmp_path / "broker.pem")),
            "ssl.truststore.certificates": AUTHORITY.pem,
            "listener.name.inside.ssl.keystore.location": str(other.write(tmp_path / "inside.pem")),
            "listener.name.inside.ssl.client.auth": "required",
        }
    )
    outside, inside = material_of(config, "OUTSIDE"), material_of(config, "INSIDE")
    assert (outside.client_auth, inside.client_auth) == ("none", "required")
    assert outside.files == (str(tmp_path / "broker.pem"),)
    assert inside.files == (str(tmp_path / "inside.pem"),)


@pytest.mark.parametrize(("auth", "shows", "is_let_in"), [
    ("none", False, True), ("requested", False, True), ("required", False, False), ("required", True, True),
])  # fmt: skip
def test_a_client_certificate_is_required_as_the_listener_is_configured(
    tmp_path: Path, auth: str, shows: bool, is_let_in: bool
) -> None:
    config = settings(
        keystore_location=BROKER.write(tmp_path / "broker.pem"),
        truststore_certificates=AUTHORITY.pem,
        client_auth=auth,
    )
    client = ssl.create_default_context(cadata=AUTHORITY.pem)
    if shows:
        client.load_cert_chain(AUTHORITY.issue(name="alice").write(tmp_path / "alice.pem"))
    server = server_context(material_of(config, "SSL"))
    if is_let_in:
        shake_hands(server, client)
    else:
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate"):
            shake_hands(server, client)


@pytest.mark.parametrize(
    ("setting", "auth"), [("ssl.client.auth", "none"), ("listener.name.sasl_ssl.ssl.client.auth", "required")]
)
def test_a_sasl_listener_requires_a_certificate_only_by_its_own_setting(setting: str, auth: str) -> None:
    config = BrokerConfig(
        {
            "listeners": "SASL_SSL://:9092,SSL://:9093",
            "inter.broker.listener.name": "SSL",
            setting: "required",
        }
    )
    assert material_of(config, "SASL_SSL").client_auth == auth


def test_a_client_of_another_authority_is_refused(tmp_path: Path) -> None:
    config = settings(
        keystore_location=BROKER.write(tmp_path / "broker.pem"),
        truststore_certificates=AUTHORITY.pem,
        client_auth="requested",
    )
    client = ssl.create_default_context(cadata=AUTHORITY.pem)
    client.load_cert_chain(authority("Mallory").issue(name="alice").write(tmp_path / "mallory.pem"))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_context(material_of(config, "SSL")), client)


@pytest.mark.parametrize(("algorithm", "is_let_in"), [("https", False), ("", True)])
def test_the_host_name_of_another_broker_is_verified_unless_disabled(
    tmp_path: Path, algorithm: str, is_let_in: bool
) -> None:
    config = settings(
        keystore_location=BROKER.write(tmp_path / "broker.pem"),
        truststore_certificates=AUTHORITY.pem,
        endpoint_identification_algorithm=algorithm,
    )
    server, client = contexts(config)
    if is_let_in:
        shake_hands(server, client, name="elsewhere.example")
    else:
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            shake_hands(server, client, name="elsewhere.example")


def test_tls_versions_are_those_of_the_settings(tmp_path: Path) -> None:
    location = BROKER.write(tmp_path / "broker.pem")
    context = server_context(
        material_of(settings(keystore_location=location, enabled_protocols="TLSv1.3"), "SSL")
    )
    assert context.minimum_version == ssl.TLSVersion.TLSv1_3
    with pytest.raises(TlsUnusable, match=r"name some of TLSv1\.2, TLSv1\.3"):
        server_context(material_of(settings(keystore_location=location, enabled_protocols="TLSv1.1"), "SSL"))


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_cipher_suites_have_javas_names(java: str, openssl: str) -> None:
    assert openssl_name(java) == openssl
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(openssl)  # the name is known


def test_cipher_suites_limit_the_offered_ones(tmp_path: Path) -> None:
    location = BROKER.write(tmp_path / "broker.pem")
    config = settings(
        keystore_location=location,
        cipher_suites="TLS_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    )
    offered = server_context(material_of(config, "SSL")).get_ciphers()
    older = [each["name"] for each in offered if each["protocol"] != "TLSv1.3"]
    assert older == ["ECDHE-ECDSA-AES256-GCM-SHA384"]
    with pytest.raises(TlsUnusable, match="OpenSSL knows none of"):
        server_context(material_of(settings(keystore_location=location, cipher_suites="NO_SUCH"), "SSL"))
