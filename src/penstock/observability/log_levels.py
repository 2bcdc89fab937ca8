"""The levels of this process's loggers, read and changed while it runs, under Kafka's names for them (KIP-412).

A level that is set here lasts until the process ends. The loggers are those of Penstock's modules and packages
(`penstock.storage` includes all of storage), and the root, whose level applies to loggers without one.
"""

import logging
from collections.abc import Mapping
from typing import Final

ROOT: Final = "root"
LEVELS: Final[Mapping[str, int]] = {
    "TRACE": 5,  # Python has none; it shows DEBUG and everything below
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_OURS: Final = "penstock"


def logger_names() -> list[str]:
    """The root, and all loggers and packages of loggers that exist."""
    ours = (name for name in logging.root.manager.loggerDict if f"{name}.".startswith(f"{_OURS}."))
    return [ROOT, *sorted(ours)]


def level_of(name: str) -> str:
    """The effective level: its own, or that of its nearest ancestor with one."""
    return level_name(_logger(name).getEffectiveLevel())


def set_level(name: str, level: str | None) -> None:
    """Set a logger's level to one of `LEVELS`; None removes its own."""
    _logger(name).setLevel(logging.NOTSET if level is None else LEVELS[level])


def level_name(level: int) -> str:
    """The name of the lowest level that is shown at `level`."""
    return next((name for name, number in LEVELS.items() if number >= level), "OFF")


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
