"""Reads the YAML form of a pipeline. `core/model.py` describes its shape, docs/pipelines.md is its reference.

Every problem in the file is reported, with its line and with what to write instead, and not only the first.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import yaml

from penstock.spark.pipeline.core.model import Output, Pipeline, Source, Step
from penstock.spark.pipeline.core.problems import PipelineError, error
from penstock.spark.pipeline.rules.assemble import assemble
from penstock.spark.pipeline.yaml.fields import read_fields
from penstock.spark.pipeline.yaml.parts import read_output, read_source, read_step
from penstock.spark.pipeline.yaml.section import Reading, Section

_BYTES_MAX = 4 * 1024 * 1024
_T = TypeVar("_T")


def read_yaml(text: str, path: str, environment: Mapping[str, str]) -> Pipeline:
    """Return the pipeline in the text of the file at `path`; raise PipelineError with all problems."""
    reading = Reading(environment, os.path.dirname(path) or ".")
    top = Section(reading, compose(text, path), "pipeline file")
    if reading.problems and not top.names():
        raise PipelineError(path, reading.problems)
    broken: list[str] = []

    def read(key: str, read_part: Callable[[], _T | None]) -> list[_T]:
        before = len(reading.problems)
        part = read_part()
        if part is None or len(reading.problems) > before:
            broken.append(key)
        return [] if part is None or not key else [part]

    sources: list[Source] = []
    for name, section in top.named_sections("sources", "source"):
        sources += read(name, partial(read_source, name, section))
    steps: list[Step] = []
    for number, node in enumerate(top.items("steps"), start=1):
        section = Section(reading, node, f"step {number}")
        name = section.text("name", required=True) or ""
        section.what = f"step {name or number}"
        steps += read(name, partial(read_step, name, section))
    outputs: list[Output] = []
    for name, section in top.named_sections("outputs", "output"):
        outputs += read(f"output {name}", partial(read_output, name, section))
    own = ("name", "sources", "steps", "outputs", "directory", "path")
    draft = Pipeline(
        line=top.line_at("pipeline"),
        name=top.required_text("pipeline"),
        sources=tuple(sources),
        steps=tuple(steps),
        outputs=tuple(outputs),
        directory=os.path.dirname(path) or ".",
        path=path,
        **read_fields(top, Pipeline, skip=own),
    )
    top.refuse_unknown()
    return assemble(draft, reading.problems, broken=broken)


def compose(
    text: str,
    path: str,
    *,
    kind: str = "pipeline file",
    begins: str = "`pipeline: NAME`, `sources:` and `outputs:`",
    loader: type[yaml.SafeLoader] = yaml.SafeLoader,
) -> yaml.Node:
    """Parse a file of this kind to nodes, which know their lines."""
    if len(text) > _BYTES_MAX:
        raise PipelineError(path, [error(0, f"is larger than {_BYTES_MAX} bytes: this is no {kind}")])
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        line = mark.line + 1 if mark is not None else 0
        reason = ", ".join(part for part in (wrong.context, wrong.problem) if part)
        raise PipelineError(path, [error(line, f"is not YAML: {reason}")]) from None
    except RecursionError:
        raise PipelineError(path, [error(0, f"is nested too deeply: this is no {kind}")]) from None
    except yaml.YAMLError as wrong:
        raise PipelineError(path, [error(0, f"is not YAML: {' '.join(str(wrong).split())}")]) from None
    if node is None:
        raise PipelineError(path, [error(0, f"is empty: write {begins}")])
    return node
