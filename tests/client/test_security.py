"""SASL exchanges against the vectors of their RFCs; TLS contexts from files."""

import base64

import pytest

from penstock.client.errors import AuthenticationFailed, SettingsError
from penstock.client.security import Exchange, sasl_exchange, tls_context
from penstock.client.settings import SaslSettings, TlsSettings

# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def scram(username: str = "user") -> Exchange:
    settings = SaslSettings(mechanism="SCRAM-SHA-256", username=username, password="pencil")
    return sasl_exchange(settings, lambda: NONCE)


def test_scram_follows_the_rfcs_example() -> None:
    exchange = scram()
    assert next(exchange) == CLIENT_FIRST
    assert exchange.send(SERVER_FIRST) == CLIENT_FINAL
    with pytest.raises(StopIteration):
        exchange.send(SERVER_FINAL)


def test_scram_escapes_commas_and_equals_signs() -> None:
    assert next(scram("a=b,c")) == b"n,,n=a=3Db=2Cc,r=" + NONCE.encode()


def test_a_broker_that_does_not_know_the_password_is_refused() -> None:
    exchange = scram()
    next(exchange)
    exchange.send(SERVER_FIRST)
    with pytest.raises(AuthenticationFailed, match="could not show"):
        exchange.send(b"v=" + base64.b64encode(bytes(32)))


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (b"r=other,s=AA==,i=4096", "nonce"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=AA==,i=4096", "nonce"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=AA==,i=1", "iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=AA==,i=99999999999", "iterations"),
        (b"hello", "no sense"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=?,i=4096", "no sense"),
        (b"e=unknown-user", "unknown-user"),
    ],
)
def test_a_scram_challenge_that_weakens_or_breaks_the_exchange_is_refused(
    challenge: bytes, reason: str
) -> None:
    exchange = scram()
    next(exchange)
    with pytest.raises(AuthenticationFailed, match=reason):
        exchange.send(challenge)


def test_plain_and_bearer_need_one_message() -> None:
    plain = sasl_exchange(SaslSettings(mechanism="PLAIN", username="u", password="p"))
    assert next(plain) == b"\0u\0p"
    bearer = sasl_exchange(SaslSettings(mechanism="OAUTHBEARER", token="t0k"))
    assert next(bearer) == b"n,,\x01auth=Bearer t0k\x01\x01"
    with pytest.raises(AuthenticationFailed, match="expired"):
        bearer.send(b'{"status":"expired"}')


def test_the_error_of_a_missing_certificate_file_names_it() -> None:
    with pytest.raises(SettingsError, match=r"/nowhere/ca\.pem"):
        tls_context(TlsSettings(ca_location="/nowhere/ca.pem"))
