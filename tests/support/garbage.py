"""Keeps the garbage collector away from the objects of the collection, which live as long as the run.

Fifteen thousand tests and their modules are a million objects: a full collection takes a tenth of a second, each
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
    gc.unfreeze()  # some libraries warn at exit about uncollected objects
