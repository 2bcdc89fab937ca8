"""PLAIN (RFC 4616): user and password as they are. For use over TLS."""

import hmac
from collections.abc import Mapping

from penstock.security.sasl.exchange import Granted, LoginRefused

NAME = "PLAIN"
_PARTS = 3


class PlainExchange:
    """The message is authorization id, user and password, separated by NUL."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.granted: Granted | None = None

    def step(self, received: bytes) -> bytes:
        parts = received.split(b"\0")
        if len(parts) != _PARTS:
            raise LoginRefused(f"Invalid SASL/PLAIN response: expected {_PARTS} tokens, got {len(parts)}")
        try:
            authorization_id, user = parts[0].decode(), parts[1].decode()
        except UnicodeDecodeError:
            raise _refused() from None
        expected = self._passwords.get(user)
        # Compared as digests, so that neither the length of a password nor an unknown user shows in the time.
        is_good = hmac.compare_digest(_digest(parts[2]), _digest((expected or "").encode()))
        if not is_good or not expected:
            raise _refused()
        if authorization_id not in ("", user):
            raise LoginRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.granted = Granted(user=user)
        return b""


def _digest(password: bytes) -> bytes:
    return hmac.digest(b"compare", password, "sha256")


def _refused() -> LoginRefused:
    return LoginRefused("Authentication failed: Invalid username or password")
