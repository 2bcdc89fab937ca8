"""`handlers/` holds one module for each API, which states the versions that it serves."""

import importlib
import pkgutil
from typing import Any

import pytest

from penstock.protocol.apis import APIS
from penstock.server import handlers
from penstock.server.handlers import HANDLERS


def module_of(key: int) -> Any:
    return importlib.import_module(f"penstock.server.handlers.{HANDLERS[key].module}")


@pytest.mark.parametrize("key", list(HANDLERS), ids=lambda key: APIS[key].name)
def test_a_handler_claims_every_version_that_the_generator_knows(key: int) -> None:
    assert APIS[key].versions == module_of(key).VERSIONS
    assert module_of(key).__doc__.startswith(f"{APIS[key].name} (key {key}), v")


def test_the_package_holds_the_handlers_and_nothing_else() -> None:
    modules = {each.name for each in pkgutil.iter_modules(handlers.__path__) if not each.ispkg}
    assert modules == {each.module for each in HANDLERS.values()}
    assert len(modules) == len(HANDLERS)
