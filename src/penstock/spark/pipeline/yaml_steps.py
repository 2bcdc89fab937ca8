"""The `steps` of a YAML file: each has a name and exactly one operation."""

from collections.abc import Callable
from types import MappingProxyType

import yaml

from penstock.spark.pipeline.choices import JOIN_KINDS, STATE_OUTPUT_MODES, STATE_TIME_MODES
from penstock.spark.pipeline.model import (
    DedupeStep,
    FilterStep,
    JoinStep,
    Operation,
    PythonStep,
    SqlStep,
    StateStep,
    Step,
    WindowStep,
)
from penstock.spark.pipeline.yaml_section import Section, text_line_of
from penstock.spark.pipeline.yaml_sources import read_expectations, read_watermark


def read_step(name: str, section: Section) -> Step | None:
    """The inputs of a SQL step are found in its text, later, when all names are known."""
    kind = section.one_of(tuple(_READERS))
    inputs = section.texts("from")
    watermark = read_watermark(section)
    expectations = read_expectations(section)
    section.refuse_unknown()
    if kind is None:
        return None
    if kind == "sql":
        if inputs:
            section.note_at("from", "is not for `sql`, whose inputs are found in its text: remove it")
        inputs = ()
    elif not inputs and not section.has("from"):
        section.note(f"`from` is missing: say what the {kind} step reads")
    return Step(
        line=section.line,
        name=name,
        inputs=inputs,
        operation=_READERS[kind](section),
        watermark=watermark,
        expectations=expectations,
    )


def _read_sql(section: Section) -> Operation:
    node = section.node("sql")
    assert node is not None
    return SqlStep(line=text_line_of(node), query=section.required_text("sql"))


def _read_filter(section: Section) -> Operation:
    return FilterStep(line=section.line_at("filter"), condition=section.required_text("filter"))


def _read_python(section: Section) -> Operation:
    return PythonStep(line=section.line_at("python"), function=section.required_text("python"))


def _read_dedupe(section: Section) -> Operation:
    line = section.line_at("dedupe")
    node = section.node("dedupe")
    if not isinstance(node, yaml.MappingNode):  # `dedupe: orderId`, `dedupe: [orderId, line]`
        return DedupeStep(line=line, by=section.texts("dedupe"))
    inner = section.section_of(node, "dedupe")
    operation = DedupeStep(
        line=line, by=inner.texts("by", required=True), within_ms=inner.duration_ms("within")
    )
    inner.refuse_unknown()
    return operation


def _read_window(section: Section) -> Operation:
    inner = _inner(section, "window")
    session_gap_ms = inner.duration_ms("session_gap")
    is_session = inner.has("session_gap")
    size_ms = inner.duration_ms("size", required=not is_session)
    slide_ms = inner.duration_ms("slide")
    if is_session and (inner.has("size") or inner.has("slide")):
        inner.note_at("session_gap", "stands instead of `size` and `slide`: keep one kind of window")
    if not inner.has("aggregates"):
        inner.note("`aggregates` is missing: write `aggregates: {total: sum(amount)}`")
    operation = WindowStep(
        line=inner.line,
        on=inner.required_text("on"),
        size_ms=size_ms or 0,
        slide_ms=slide_ms,
        session_gap_ms=session_gap_ms,
        by=inner.texts("by"),
        aggregates=inner.mapping("aggregates"),
    )
    inner.refuse_unknown()
    return operation


def _read_join(section: Section) -> Operation:
    inner = _inner(section, "join")
    how = inner.choice("how", JOIN_KINDS, "inner")
    operation = JoinStep(
        line=inner.line,
        on=(inner.text("on") or "true") if how == "cross" else inner.required_text("on"),
        how=how,
        select=inner.text("select") or "*",
    )
    inner.refuse_unknown()
    return operation


def _read_state(section: Section) -> Operation:
    inner = _inner(section, "state")
    operation = StateStep(
        line=inner.line,
        by=inner.texts("by", required=True),
        processor=inner.required_text("processor"),
        schema=inner.required_text("schema"),
        time_mode=inner.choice("time_mode", STATE_TIME_MODES, "None"),
        output_mode=inner.choice("output_mode", STATE_OUTPUT_MODES, "append"),
    )
    inner.refuse_unknown()
    return operation


def _inner(section: Section, key: str) -> Section:
    node = section.node(key)
    assert node is not None
    return section.section_of(node, key)


_READERS = MappingProxyType[str, Callable[[Section], Operation]](
    {
        "sql": _read_sql,
        "filter": _read_filter,
        "python": _read_python,
        "dedupe": _read_dedupe,
        "window": _read_window,
        "join": _read_join,
        "state": _read_state,
    }
)
