import logging
from collections.abc import Iterator

import pytest

from penstock.observability.log_levels import LEVELS, ROOT, level_name, level_of, logger_names, set_level

PACKAGE = "penstock.levels_under_test"
LOGGER = f"{PACKAGE}.inner"


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    yield logging.getLogger(LOGGER)
    for name in (PACKAGE, LOGGER):
        set_level(name, None)


def test_the_root_the_loggers_and_their_packages_are_listed_but_no_foreign_ones() -> None:
    logging.getLogger("penstocks.not.ours")
    names = logger_names()
    assert names[0] == ROOT
    assert {"penstock", PACKAGE, LOGGER} <= set(names)
    assert not [name for name in names if name.startswith("penstocks")]


def test_a_logger_inherits_the_level_of_its_package(logger: logging.Logger) -> None:
    set_level(PACKAGE, "ERROR")
    assert (level_of(LOGGER), logger.isEnabledFor(logging.WARNING)) == ("ERROR", False)
    set_level(LOGGER, "DEBUG")
    assert (level_of(LOGGER), logger.isEnabledFor(logging.DEBUG)) == ("DEBUG", True)
    set_level(LOGGER, None)
    assert (level_of(LOGGER), level_of(PACKAGE)) == ("ERROR", "ERROR")


@pytest.mark.parametrize("level", LEVELS)
def test_a_set_level_is_the_reported_one(level: str) -> None:
    set_level(LOGGER, level)
    assert level_of(LOGGER) == level


@pytest.mark.parametrize(("level", "name"), [(0, "TRACE"), (25, "WARN"), (50, "FATAL"), (51, "OFF")])
def test_unnamed_levels_are_reported_as_the_next_named_one(level: int, name: str) -> None:
    assert level_name(level) == name
