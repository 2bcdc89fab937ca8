"""Reads a pipeline file: YAML (`.yaml`, `.yml`) or Python (`.py`)."""

import os
from collections.abc import Mapping

from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.problems import PipelineError, error


def load(path: str, environment: Mapping[str, str] | None = None) -> Pipeline:
    """Return the pipeline in the file, or raise PipelineError with all problems and their lines.

    `environment` has the variables for `${NAME}` in a YAML file; by default the variables of this process.
    """
    extension = os.path.splitext(path)[1].lower()
    if extension not in {".yaml", ".yml", ".py"}:
        raise PipelineError(
            path, [error(0, "is not a pipeline file: its name must end in .yaml, .yml or .py")]
        )
    # Import only the modules that the form needs.
    if extension == ".py":
        from penstock.spark.pipeline.python.file import read_python  # noqa: PLC0415

        read_text(path)
        return read_python(path)
    from penstock.spark.pipeline.yaml.file import read_yaml  # noqa: PLC0415

    return read_yaml(read_text(path), path, os.environ if environment is None else environment)


def read_text(path: str) -> str:
    """Return the text of a file, or raise PipelineError."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) else "not UTF-8 text"
        raise PipelineError(path, [error(0, f"cannot be read: {reason}")]) from None
