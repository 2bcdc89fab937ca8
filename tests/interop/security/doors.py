"""How a client gets in: which listener, and what it shows there."""

from pathlib import Path

import msgspec


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """`mechanism` is empty where no login is asked for; `certificate` is a PEM file with key and certificate."""

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
    """What the client says when it does not get in."""
