"""How `pytest -n 3 --dist loadgroup` spreads the tests: by file, or by group where a file names one, long ones first.

The tests of a file share its fixtures, which are brokers, and a group shares more, such as a JVM: each is created once
if one worker runs them all. Long tests begin first, so that no worker is left alone with one at the end.

pytest-xdist 3.8 passes the group on in an attribute that pytest 9.2 no longer reads, and then spreads the tests of a
group over all workers silently. Here the group is read from the test's file.
"""

import contextlib
import functools
import importlib
import re
from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]  # it has no types
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

_GROUP = re.compile(r"\bpytest\.mark\.xdist_group\(\"(\w+)\"\)")
# Groups come before all of these, everything else comes after.
_LONG = (
    *("crash", "failover", "simulation", "interop", "examples", "malicious", "cli"),
    *("storage", "transactions", "protocol"),  # of few files that take ten seconds each
)


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # of no type, as above
    """A file goes where its group goes; one without goes where there is room. They go in the order of collection."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        config.option.loadscopereorder = False  # that would be by the number of tests
        super().__init__(config, log)
        self._root = config.rootpath

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return group_of(self._root / file) or file


@functools.cache
def group_of(path: Path) -> str | None:
    """The group that is named in a test file: all its tests belong to it."""
    found = _GROUP.search(path.read_text())
    return found[1] if found else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling | None:
    return GroupScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_collection(session: pytest.Session) -> None:
    """Each worker imports another part of the test files first, and finds the rest compiled by the other workers.

    In a fresh checkout pytest has to rewrite the assertions of every file, and all workers would do so for all files.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    given = [session.config.invocation_params.dir / each for each in session.config.args]
    files = sorted(file for each in given for file in each.rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for file in files[first:]:
        name = ".".join(file.relative_to(session.config.rootpath).with_suffix("").parts)
        with contextlib.suppress(Exception):  # which pytest reports when it comes to that file
            importlib.import_module(name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The order of collection, which xdist's workers must agree on."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _turn(item.path, config.rootpath))


def _turn(path: Path, root: Path) -> int:
    package = path.relative_to(root).parts[1]
    if group_of(path) is not None:
        return 0
    return 1 + (_LONG.index(package) if package in _LONG else len(_LONG))
