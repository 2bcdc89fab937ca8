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


def test_the_root_the_loggers_and_their_packages_are_told_but_not_those_of_others() -> None:
    logging.getLogger("penstocks.not.ours")
    names = logger_names()
    assert names[0] == ROOT
    assert {"penstock", PACKAGE, LOGGER} <= set(names)
    assert not [name for name in names if name.startswith("penstocks")]


def test_a_logger_has_the_level_of_its_package_until_it_has_one_of_its_own(logger: logging.Logger) -> None:
    set_level(PACKAGE, "ERROR")
    assert (level_of(LOGGER), logger.isEnabledFor(logging.WARNING)) == ("ERROR", False)
    set_level(LOGGER, "DEBUG")
    assert (level_of(LOGGER), logger.isEnabledFor(logging.DEBUG)) == ("DEBUG", True)
    set_level(LOGGER, None)
    assert (level_of(LOGGER), level_of(PACKAGE)) == ("ERROR", "ERROR")


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_that_is_set_is_the_one_that_is_told(level: str) -> None:
    set_level(LOGGER, level)
    assert level_of(LOGGER) == level


@pytest.mark.parametrize(("level", "name"), [(0, "TRACE"), (25, "WARN"), (50, "FATAL"), (51, "OFF")])
def test_levels_without_a_name_are_told_by_what_they_still_show(level: int, name: str) -> None:
    assert level_name(level) == name
