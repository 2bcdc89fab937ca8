"""What all mechanisms have in common: they are given what the client sent, and give what to answer."""

from typing import Protocol

import msgspec


class LoginRefused(Exception):
    """The proof is not good. The text goes to the client, and does not say which part was wrong."""


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """Who somebody has shown to be."""

    user: str
    expires_at_ms: int | None = None  # of the wall clock: when the proof itself loses its worth


class Exchange(Protocol):
    """One login by one mechanism; it is over when `granted` is set, or when it has raised."""

    granted: Granted | None

    def step(self, received: bytes) -> bytes:
        """Take the client's next message and give the answer. Raises `LoginRefused`."""
        ...


def invalid_credentials(mechanism: str) -> LoginRefused:
    """The one refusal for everything that a guesser could learn from."""
    return LoginRefused(
        f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    )
