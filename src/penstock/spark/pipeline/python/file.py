"""Loads a Python file that defines a pipeline with `define`.

The file is run as a module and must bind exactly one pipeline. An error while it runs is reported with its line in the
file.
"""

import os
import traceback
from types import ModuleType

from penstock.spark.pipeline.compile.user_code import load_file
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.problems import PipelineError, error
from penstock.spark.pipeline.python.definition import PipelineDefinition


def read_python(path: str) -> Pipeline:
    full = os.path.abspath(path)
    module = _run(path, full)
    found = {id(value): value for value in vars(module).values() if isinstance(value, PipelineDefinition)}
    if len(found) != 1:
        what = (
            "binds no pipeline: write `pipeline = define(…)`" if not found else "binds more than one pipeline"
        )
        raise PipelineError(path, [error(0, what)])
    (definition,) = found.values()
    try:
        return definition.build()
    except PipelineError as wrong:
        raise PipelineError(path, wrong.problems) from None


def _run(path: str, full: str) -> ModuleType:
    try:
        return load_file(full, os.path.dirname(full))
    except Exception as wrong:
        raise PipelineError(path, [error(_line_in(full, wrong), _message(wrong))]) from wrong


def _line_in(full: str, wrong: BaseException) -> int:
    if isinstance(wrong, SyntaxError) and wrong.filename == full:
        return wrong.lineno or 0
    lines = [
        frame.lineno or 0 for frame in traceback.extract_tb(wrong.__traceback__) if frame.filename == full
    ]
    return lines[-1] if lines else 0


def _message(wrong: BaseException) -> str:
    text = wrong.msg if isinstance(wrong, SyntaxError) else str(wrong)
    if isinstance(wrong, ValueError):
        return text
    return f"{type(wrong).__name__}: {text}" if text else type(wrong).__name__
