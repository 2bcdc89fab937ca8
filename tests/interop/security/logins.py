"""How a client connects: its listener and its credentials."""

from pathlib import Path

import msgspec


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """`mechanism` is empty without SASL; `certificate` is a PEM file with key and certificate."""

    protocol: str
    bootstrap: str
    authority: Path
    certificate: Path | None = None
    mechanism: str = ""
    user: str = ""
    password: str = ""
    token: str = ""

    def __str__(self) -> str:
        return " ".join(
            part for part in (self.protocol, self.mechanism, "mutual" if self.certificate else "") if part
        )


class Refused(Exception):
    """The error of a client that cannot connect or log in."""
