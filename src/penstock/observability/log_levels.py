"""The levels of this process's loggers, read and changed while it runs, under Kafka's names for them (KIP-412).

A level that is set here lasts until the process ends. Loggers are those of Penstock and their packages, so that
`penstock.storage` stands for all of storage, and the root of all, from which those without a level have theirs.
"""

import logging
from collections.abc import Mapping
from typing import Final

ROOT: Final = "root"
LEVELS: Final[Mapping[str, int]] = {
    "TRACE": 5,  # Python has none; it shows what DEBUG shows, and what is below
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_OURS: Final = "penstock"


def logger_names() -> list[str]:
    """The root, and every logger and package of loggers that there is by now."""
    ours = (name for name in logging.root.manager.loggerDict if f"{name}.".startswith(f"{_OURS}."))
    return [ROOT, *sorted(ours)]


def level_of(name: str) -> str:
    """The level that counts: its own, or that of the nearest one above that has one."""
    return level_name(_logger(name).getEffectiveLevel())


def set_level(name: str, level: str | None) -> None:
    """Give a logger one of `LEVELS`; None takes its own away."""
    _logger(name).setLevel(logging.NOTSET if level is None else LEVELS[level])


def level_name(level: int) -> str:
    """The name of the least serious lines that are shown at `level`."""
    return next((name for name, number in LEVELS.items() if number >= level), "OFF")


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
