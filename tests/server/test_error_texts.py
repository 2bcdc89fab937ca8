"""Storage errors name files of this machine: clients get `client_message`, never the text itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.storage.errors import LogClosed, LogCorrupt, LogError, StorageError, StorageFailure

SOURCES = Path(__file__).resolve().parents[2] / "src" / "penstock"
ANSWERING = sorted(path for part in ("server", "share", "groups") for path in (SOURCES / part).rglob("*.py"))
NO_CLIENT = {"server/broker/broker.py"}  # says why it does not start, to the person who starts it


def names_in(node: ast.AST | None) -> set[str]:
    return set() if node is None else {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def texts_of_log_errors(tree: ast.AST) -> Iterator[int]:
    """Lines on which the text of an error is taken that may be a `LogError`: one that is caught, or a parameter."""
    for node in ast.walk(tree):
        caught: set[str] = set()
        if isinstance(node, ast.ExceptHandler) and "LogError" in names_in(node.type):
            caught = {node.name or ""}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            caught = {each.arg for each in node.args.args if "LogError" in names_in(each.annotation)}
        for each in ast.walk(node) if caught else ():
            if isinstance(each, ast.Call) and ast.unparse(each) in {f"str({name})" for name in caught}:
                yield each.lineno


def test_no_handler_returns_the_text_of_a_storage_error() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path in ANSWERING
        if str(path.relative_to(SOURCES)) not in NO_CLIENT
        for line in texts_of_log_errors(ast.parse(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("kind", [StorageError, StorageFailure, LogClosed, LogCorrupt])
def test_errors_whose_text_may_name_a_file_have_a_separate_text_for_clients(kind: type[LogError]) -> None:
    error = kind("cannot do it to /data/orders-0/00000000000000000000.log")
    assert "/data" not in error.client_message
    assert "/data" in str(error), "the log says it"
