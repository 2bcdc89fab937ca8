"""Tests of one `xdist_group` run on one worker of `pytest -n 2 --dist loadgroup`.

pytest-xdist 3.8 passes the group on in an attribute that pytest 9.2 no longer reads, and then spreads the tests of a
group over all workers without a word: each of them would start a JVM. Here the group is read from the test's file.
"""

import functools
import re
from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]  # it has no types
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

_GROUP = re.compile(r"\bpytest\.mark\.xdist_group\(\"(\w+)\"\)")


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # of no type, as above
    """A test whose file belongs to a group goes where the group goes; any other goes where there is room."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self._root = config.rootpath

    def _split_scope(self, nodeid: str) -> str:
        return group_of(self._root / nodeid.partition("::")[0]) or nodeid


@functools.cache
def group_of(path: Path) -> str | None:
    """The group that is named in a test file: all its tests belong to it."""
    found = _GROUP.search(path.read_text())
    return found[1] if found else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling | None:
    return GroupScheduling(config, log) if config.getoption("dist") == "loadgroup" else None
