import pytest

from penstock.security.sasl.exchange import Granted, LoginRefused
from penstock.security.sasl.plain import PlainExchange

USERS = {"alice": "secret", "björn": "gehörnt", "empty": ""}


@pytest.mark.parametrize(
    ("message", "user"),
    [("\0alice\0secret", "alice"), ("alice\0alice\0secret", "alice"), ("\0björn\0gehörnt", "björn")],
)
def test_the_right_password_is_accepted(message: str, user: str) -> None:
    exchange = PlainExchange(USERS)
    assert exchange.step(message.encode()) == b""
    assert exchange.granted == Granted(user=user)


@pytest.mark.parametrize(
    "message",
    [
        b"\0alice\0wrong",
        b"\0alice\0",
        b"\0\0secret",
        b"\0bob\0secret",
        b"\0bob\0",
        b"\0empty\0",
        b"\0\xff\0secret",
        b"\0alice\0\xff",
    ],
)
def test_every_refusal_has_the_same_message(message: bytes) -> None:
    exchange = PlainExchange(USERS)
    with pytest.raises(LoginRefused, match=r"^Authentication failed: Invalid username or password$"):
        exchange.step(message)
    assert exchange.granted is None


@pytest.mark.parametrize("message", [b"", b"alice", b"\0alice", b"\0alice\0secret\0more"])
def test_a_malformed_message_is_refused(message: bytes) -> None:
    with pytest.raises(LoginRefused, match="expected 3 tokens"):
        PlainExchange(USERS).step(message)


def test_an_authorization_id_of_another_user_is_refused() -> None:
    exchange = PlainExchange(USERS)
    with pytest.raises(LoginRefused, match="authorization id"):
        exchange.step(b"bob\0alice\0secret")
    assert exchange.granted is None
