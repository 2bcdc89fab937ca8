"""Positions in options: `client/positions.py` has the grammar."""

from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.client import positions


def parse_position(text: str, now_ms: int, option: str = "--from") -> positions.Position:
    try:
        return positions.parse_position(text, now_ms)
    except positions.InvalidPosition as error:
        raise CommandError(f"{option} {error}", EXIT_USAGE) from None
