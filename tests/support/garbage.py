"""Keeps the garbage collector away from what collection makes, which lives as long as the run.

Fifteen thousand tests and their modules are a million objects: to look through them takes a tenth of a second, each
time that a test asks for a collection or Python thinks it is time for one.
"""

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # some libraries complain at exit about objects of theirs that nobody collected
