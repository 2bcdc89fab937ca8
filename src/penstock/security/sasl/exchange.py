"""The interface of all SASL mechanisms."""

from typing import Protocol

import msgspec


class LoginRefused(Exception):
    """Authentication failed. The text goes to the client, and does not say which part was wrong."""


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    expires_at_ms: int | None = None  # of the wall clock: when the credentials expire


class Exchange(Protocol):
    """One login by one mechanism; it ends when `granted` is set, or when it raises."""

    granted: Granted | None

    def step(self, received: bytes) -> bytes:
        """Take the client's next message and return the response. Raises `LoginRefused`."""
        ...


def invalid_credentials(mechanism: str) -> LoginRefused:
    """The same error for all wrong credentials, so that an attacker learns nothing."""
    return LoginRefused(
        f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    )
