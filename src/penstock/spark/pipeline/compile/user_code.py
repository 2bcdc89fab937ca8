"""Loads functions and classes of the user: `module:name`, or `file.py:name` beside the pipeline file.

Code of a file is sent to Spark's workers by value, because they cannot import that file.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pyspark import cloudpickle


def resolve(reference: str, directory: str) -> Any:
    place, _, name = reference.rpartition(":")
    module = load_file(place, directory) if place.endswith(".py") else _load_module(place, directory)
    found: Any = module
    for attribute in name.split("."):
        if not hasattr(found, attribute):
            raise AttributeError(f"{place} has no `{name}`")
        found = getattr(found, attribute)
    return found


def _load_module(name: str, directory: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
    beside = os.path.join(directory, *name.split(".")) + ".py"
    if not os.path.exists(beside):
        raise ModuleNotFoundError(f"there is no module `{name}`, neither installed nor as {beside}")
    return load_file(beside, directory)


def load_file(path: str, directory: str) -> ModuleType:
    """Run a file as a module. It may import modules beside it."""
    full = os.path.abspath(os.path.join(directory, path))
    if not os.path.exists(full):
        raise FileNotFoundError(f"there is no file {full}")
    stem = os.path.splitext(os.path.basename(full))[0]
    name = f"penstock_pipeline_{stem}_{hashlib.sha256(full.encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, full)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(full))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(os.path.dirname(full))
    _send_by_value(os.path.dirname(full), set(sys.modules) - before)
    return module


def _send_by_value(directory: str, names: set[str]) -> None:
    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    for name in names:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and os.path.dirname(os.path.abspath(file)) == directory:
            register(sys.modules[name])
