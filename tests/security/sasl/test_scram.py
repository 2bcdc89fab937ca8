import base64
import re

import pytest

from penstock.client.errors import AuthenticationFailed
from penstock.client.security import sasl_exchange
from penstock.client.settings import SaslSettings
from penstock.security.sasl.exchange import Granted, LoginRefused
from penstock.security.sasl.scram import ScramExchange
from penstock.security.scram_credentials import (
    SCRAM_BY_NAME,
    ScramCredential,
    ScramMechanism,
    credential_of_password,
    decoy_credential,
)

SHA_256 = ScramMechanism.SCRAM_SHA_256


def server(mechanism: ScramMechanism = SHA_256, **passwords: str) -> ScramExchange:
    credentials = {
        user: credential_of_password(mechanism, password, b"salt-of-" + user.encode())
        for user, password in passwords.items()
    }

    def decoy(user: str) -> ScramCredential:
        return decoy_credential(mechanism, user, b"secret")

    return ScramExchange(mechanism, credentials.get, decoy, lambda: "server-nonce")


def log_in(exchange: ScramExchange, mechanism: str, user: str, password: str) -> None:
    """Run the whole exchange with the product's own client."""
    client = sasl_exchange(SaslSettings(mechanism=mechanism, username=user, password=password))
    sent = next(client)
    while True:
        try:
            sent = client.send(exchange.step(sent))
        except StopIteration:
            return


def test_the_exchange_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    credential = credential_of_password(SHA_256, "pencil", salt, 4096)
    exchange = ScramExchange(
        SHA_256,
        lambda _user: credential,
        lambda user: decoy_credential(SHA_256, user, b"secret"),
        lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    )
    assert exchange.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert (
        exchange.step(
            b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        )
        == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    )
    assert exchange.granted == Granted(user="user")


@pytest.mark.parametrize("name", SCRAM_BY_NAME)
@pytest.mark.parametrize("user", ["alice", "a=b,c", "björn"])
def test_the_right_password_is_accepted_and_the_server_proves_that_it_knows_it(name: str, user: str) -> None:
    exchange = server(SCRAM_BY_NAME[name], **{user: "secret"})
    log_in(exchange, name, user, "secret")
    assert exchange.granted == Granted(user=user)


def test_a_wrong_password_and_an_unknown_user_get_the_same_answers() -> None:
    refusals = []
    for user, password in (("alice", "wrong"), ("nobody", "secret"), ("nobody", "")):
        exchange = server(alice="secret")
        with pytest.raises(LoginRefused) as refusal:
            log_in(exchange, "SCRAM-SHA-256", user, password)
        refusals.append(str(refusal.value))
        assert exchange.granted is None
    assert len(set(refusals)) == 1
    assert "alice" not in refusals[0]


def test_an_unknown_user_gets_a_challenge_like_a_known_one() -> None:
    exchange = server(alice="secret")
    challenge = exchange.step(b"n,,n=nobody,r=abc").decode()
    assert re.fullmatch(r"r=abcserver-nonce,s=[A-Za-z0-9+/=]+,i=4096", challenge)


def test_a_server_that_does_not_know_the_password_cannot_impersonate_the_real_one() -> None:
    with pytest.raises(AuthenticationFailed):
        client = sasl_exchange(
            SaslSettings(mechanism="SCRAM-SHA-256", username="alice", password="right"),
            nonce=lambda: "abc",
        )
        exchange = server(alice="right")
        sent = client.send(exchange.step(next(client)))
        exchange.step(sent)
        client.send(b"v=" + base64.b64encode(bytes(32)))


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,",
        b"n,,n=alice",
        b"n,,r=abc,n=alice",
        b"p=tls-unique,,n=alice,r=abc",
        b"n,,n=al=ice,r=abc",
        b"n,,n=alice,r=",
        b"n,,n=alice,r=abc,tokenauth=true",
        b"\xff\xfe",
        b"n,a=bob,n=alice,r=abc",
    ],
)
def test_a_malformed_first_message_is_refused(first: bytes) -> None:
    with pytest.raises(LoginRefused):
        server(alice="secret").step(first)


@pytest.mark.parametrize(
    "change",
    [
        lambda final: final.replace(b"server-nonce", b"server-nonc3"),
        lambda final: final.replace(b"c=biws", b"c=eSws"),  # another header than the first message had
        lambda final: final.replace(b"c=biws", b"c=!"),
        lambda final: final[:-8],
        lambda final: final.partition(b",p=")[0],
        lambda final: final.partition(b",p=")[0] + b",p=",
        lambda final: final.partition(b",p=")[0] + b",p=" + base64.b64encode(bytes(31)),
        lambda _final: b"",
        lambda _final: b"\xff",
    ],
)
def test_a_tampered_last_message_is_refused(change: object) -> None:
    assert callable(change)
    exchange = server(alice="secret")
    client = sasl_exchange(SaslSettings(mechanism="SCRAM-SHA-256", username="alice", password="secret"))
    final = client.send(exchange.step(next(client)))
    with pytest.raises(LoginRefused):
        exchange.step(change(final))
    assert exchange.granted is None
