"""The YAML form of a pipeline. Its shape is in `model.py`, its reference in docs/pipelines.md.

Every problem in the file is told, with its line and with what to write instead, and not only the first.
"""

import os
from collections.abc import Mapping

import yaml

from penstock.spark.pipeline.assemble import assemble
from penstock.spark.pipeline.choices import SOURCE_FORMATS
from penstock.spark.pipeline.model import Output, Pipeline, Restart, Source, Step
from penstock.spark.pipeline.problems import PipelineError, error
from penstock.spark.pipeline.yaml_outputs import read_output
from penstock.spark.pipeline.yaml_section import Reading, Section
from penstock.spark.pipeline.yaml_sources import read_source
from penstock.spark.pipeline.yaml_steps import read_step

_BYTES_MAX = 4 * 1024 * 1024


def read_yaml(text: str, path: str, environment: Mapping[str, str]) -> Pipeline:
    """The pipeline in the text of the file at `path`; a PipelineError tells all problems."""
    if len(text) > _BYTES_MAX:
        raise PipelineError(path, [error(0, f"is larger than {_BYTES_MAX} bytes: this is no pipeline file")])
    reading = Reading(environment)
    top = Section(reading, _compose(text, path), "pipeline file")
    if reading.problems and not top.names():
        raise PipelineError(path, reading.problems)
    broken: list[str] = []
    sources = _read_sources(top, reading, broken)
    steps = _read_steps(top, reading, broken)
    outputs = _read_outputs(top, reading, broken)
    defaults = Pipeline(name="", sources=(), outputs=())
    trigger_ms = top.duration_ms("trigger")
    draft = Pipeline(
        line=top.line_at("pipeline"),
        name=top.required_text("pipeline"),
        bootstrap_servers=top.text("bootstrap_servers") or defaults.bootstrap_servers,
        source_format=top.choice("source_format", SOURCE_FORMATS, defaults.source_format),
        checkpoints=top.text("checkpoints") or "",
        dead_letter_topic=top.text("dead_letter_topic") or "",
        trigger_ms=defaults.trigger_ms if trigger_ms is None else trigger_ms,
        kafka=top.mapping("kafka"),
        spark=top.mapping("spark"),
        sources=tuple(sources),
        steps=tuple(steps),
        outputs=tuple(outputs),
        restart=_read_restart(top),
        directory=os.path.dirname(path) or ".",
        path=path,
    )
    top.refuse_unknown()
    return assemble(draft, reading.problems, broken=broken)


def _compose(text: str, path: str) -> yaml.Node:
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        line = mark.line + 1 if mark is not None else 0
        said = ", ".join(part for part in (wrong.context, wrong.problem) if part)
        raise PipelineError(path, [error(line, f"is not YAML: {said}")]) from None
    except RecursionError:
        raise PipelineError(path, [error(0, "is nested too deeply: this is no pipeline file")]) from None
    except yaml.YAMLError as wrong:
        raise PipelineError(path, [error(0, f"is not YAML: {' '.join(str(wrong).split())}")]) from None
    if node is None:
        raise PipelineError(path, [error(0, "is empty: write `pipeline: NAME`, `sources:` and `outputs:`")])
    return node


def _read_sources(top: Section, reading: Reading, broken: list[str]) -> list[Source]:
    sources = []
    for name, section in top.named_sections("sources", "source"):
        before = len(reading.problems)
        source = read_source(name, section)
        if source is None or len(reading.problems) > before:
            broken.append(name)
        if source is not None:
            sources.append(source)
    return sources


def _read_steps(top: Section, reading: Reading, broken: list[str]) -> list[Step]:
    steps = []
    for number, node in enumerate(top.items("steps"), start=1):
        before = len(reading.problems)
        section = Section(reading, node, f"step {number}")
        name = section.text("name", required=True) or ""
        section.what = f"step {name or number}"
        step = read_step(name, section)
        if step is None or len(reading.problems) > before:
            broken.append(name)
        if step is not None and name:
            steps.append(step)
    return steps


def _read_outputs(top: Section, reading: Reading, broken: list[str]) -> list[Output]:
    outputs = []
    for name, section in top.named_sections("outputs", "output"):
        before = len(reading.problems)
        output = read_output(name, section)
        if len(reading.problems) > before:
            broken.append(f"output {name}")
        if output is not None:
            outputs.append(output)
    return outputs


def _read_restart(top: Section) -> Restart:
    section = top.section("restart")
    if section is None:
        return Restart()
    defaults = Restart()
    attempts = section.integer("attempts", at_least=0)
    within_ms = section.duration_ms("within")
    backoff_ms = section.duration_ms("backoff")
    section.refuse_unknown()
    return Restart(
        line=section.line,
        attempts=defaults.attempts if attempts is None else attempts,
        within_ms=defaults.within_ms if within_ms is None else within_ms,
        backoff_ms=defaults.backoff_ms if backoff_ms is None else backoff_ms,
    )
