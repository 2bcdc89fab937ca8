"""Reads a cases file. Every problem is reported with its line and with what to write instead."""

import os
from collections.abc import Mapping
from typing import cast

import yaml
from msgspec.structs import replace

from penstock.spark.pipeline.core.positions import time_ms
from penstock.spark.pipeline.core.problems import PipelineError, did_you_mean
from penstock.spark.pipeline.load import read_text
from penstock.spark.pipeline.yaml.file import compose
from penstock.spark.pipeline.yaml.section import Reading, Section, line_of
from penstock.spark.testing.cases.model import (
    KILL,
    STOP,
    Case,
    CaseFile,
    CaseStep,
    ExpectedBroken,
    ExpectedOutput,
    GivenRecord,
    GivenSource,
)
from penstock.spark.testing.cases.values import CaseLoader, read_bytes, read_value
from penstock.spark.testing.compare import Containing, ExpectedRows, Row
from penstock.spark.testing.records import Record

DEAD_LETTERS = "dead_letters"
EXPECTATIONS = "expectations"
FAILURE = "failure"
RESERVED = (DEAD_LETTERS, EXPECTATIONS, FAILURE)  # in `expect`, beside the names of outputs

_DEAD_LETTER_COLUMNS = ("step", "error", "topic", "partition", "offset", "key", "value")
_STEP_KEYS = ("given", "expect", "restart_after")


def read_cases(path: str, pipeline: str, environment: Mapping[str, str] | None = None) -> CaseFile:
    """Return the cases in the file, which are for the pipeline file at `pipeline`; or raise PipelineError."""
    node = compose(read_text(path), path, kind="cases file", begins="`cases:`", loader=CaseLoader)
    reading = Reading(os.environ if environment is None else environment)
    top = Section(reading, node, "cases file")
    shared = top.mapping("environment")
    cases = []
    for number, each in enumerate(top.items("cases"), start=1):
        cases.append(_read_case(Section(reading, each, f"case {number}"), shared))
    if not cases and not reading.problems:
        top.add_problem("`cases` is missing: write a list of cases, each with `name`, `given` and `expect`")
    top.refuse_unknown()
    if reading.problems:
        raise PipelineError(path, reading.problems)
    return CaseFile(path=path, pipeline=pipeline, cases=tuple(cases))


def _read_case(section: Section, shared: Mapping[str, str]) -> Case:
    name = section.required_text("name")
    section.what = f"case {name}" if name else section.what
    environment = {**shared, **section.mapping("environment")}
    steps: list[CaseStep] = []
    if section.has("steps"):
        instead = dict.fromkeys(_STEP_KEYS, "is for a case without `steps`: move it into a step")
        for number, node in enumerate(section.items("steps"), start=1):
            inner = section.section_of(node, f"step {number}", line_of(node))
            steps.append(_read_step(inner))
            inner.refuse_unknown()
        section.refuse_unknown(instead)
    else:
        steps.append(_read_step(section))
        section.refuse_unknown()
        if not section.has("given") and not section.has("expect"):
            section.add_problem("has neither `given` and `expect` nor `steps`")
    return Case(line=section.line, name=name, environment=environment, steps=tuple(steps))


def _read_step(section: Section) -> CaseStep:
    given = section.section("given")
    expect = section.section("expect")
    outputs: list[ExpectedOutput] = []
    dead_letters = ExpectedOutput(line=section.line, name=DEAD_LETTERS, rows=ExpectedRows(rows=()))
    broken: tuple[ExpectedBroken, ...] = ()
    failure = None
    for name in expect.names() if expect is not None else ():
        assert expect is not None
        node = expect.node(name)
        assert node is not None
        if name == EXPECTATIONS:
            broken = _read_broken(expect)
        elif name == FAILURE:
            failure = expect.required_text(FAILURE)
        elif name == DEAD_LETTERS:
            dead_letters = _read_dead_letters(expect, node)
        else:
            outputs.append(_read_output(expect, name, node))
    return CaseStep(
        line=section.line,
        given=tuple(_read_given(given, name) for name in given.names()) if given is not None else (),
        outputs=tuple(outputs),
        dead_letters=dead_letters,
        broken=broken,
        failure=failure,
        restart_after=section.choice("restart_after", (STOP, KILL)),
    )


# -- given


def _read_given(section: Section, name: str) -> GivenSource:
    """Read the records of a topic, which are a list; or a mapping with the `rows` of a table and their `schema`."""
    node = section.node(name)
    assert node is not None
    line = section.line_at(name)
    if isinstance(node, yaml.MappingNode):
        inner = section.section_of(node, name)
        rows = tuple(_read_row(inner, each) for each in inner.items("rows"))
        schema = inner.text("schema") or ""
        inner.refuse_unknown()
        return GivenSource(line=line, name=name, rows=rows, schema=schema, is_table=True)
    records = [
        _read_record(section.section_of(each, name, line_of(each)), each) for each in section.items(name)
    ]
    return GivenSource(line=line, name=name, records=tuple(records))


def _read_record(section: Section, node: yaml.Node) -> GivenRecord:
    headers = section.section("headers")
    value = _bytes(section, "value")
    if isinstance(node, yaml.MappingNode) and not section.has("value"):
        section.add_problem("`value` is missing: write `value: …`, or `value: null` for a record without one")
    timestamp = section.text("timestamp")
    record = Record(
        value=value,
        key=_bytes(section, "key"),
        headers=tuple((name, _bytes(headers, name)) for name in headers.names()) if headers else (),
        partition=section.integer("partition", minimum=0) or 0,
        timestamp_ms=None if timestamp is None else _read_time(section, timestamp),
    )
    topic = section.text("topic") or ""
    section.refuse_unknown()
    return GivenRecord(record=record, topic=topic)


def _bytes(section: Section, key: str) -> bytes | None:
    node = section.node(key)
    return None if node is None else read_bytes(node, section.add_problem)


def _read_time(section: Section, text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    try:
        return time_ms(text)
    except ValueError as wrong:
        section.add_problem_at("timestamp", str(wrong))
        return None


# -- expect


def _read_output(section: Section, name: str, node: yaml.Node) -> ExpectedOutput:
    """Read a list of rows, or a mapping with `rows` or `contains` and with how they are compared."""
    line = section.line_at(name)
    if not isinstance(node, yaml.MappingNode):
        return ExpectedOutput(line=line, name=name, rows=_expected_rows(section, name))
    inner = section.section_of(node, name)
    kind = next((each for each in ("contains", "rows") if inner.has(each)), None)
    is_ordered = inner.flag("ordered") or False
    columns = inner.texts("columns") if inner.has("columns") else None
    count = inner.integer("count", minimum=0)
    rows = None if kind is None else _expected_rows(inner, kind)
    if rows is None and count is None:
        inner.add_problem("has none of `rows`, `contains` and `count`")
    if kind == "contains":
        for key in ("rows", "ordered", "columns"):
            if inner.has(key):
                inner.add_problem_at(key, "cannot be beside `contains`, which compares what its rows name")
    inner.refuse_unknown()
    if rows is not None:
        is_partial = kind == "contains"
        rows = replace(
            rows, is_ordered=is_ordered, is_partial=is_partial, allows_others=is_partial, columns=columns
        )
    return ExpectedOutput(line=line, name=name, rows=rows, count=count)


def _expected_rows(section: Section, key: str) -> ExpectedRows:
    nodes, begin = section.items(key), section.line_at(key)
    return ExpectedRows(
        rows=tuple(_read_row(section, each) for each in nodes),
        lines=tuple(max(begin, line_of(each)) for each in nodes),  # an alias has the line of its anchor
    )


def _read_row(section: Section, node: yaml.Node) -> Row:
    row = section.section_of(node, "row", line_of(node))  # notes keys that are there twice
    return {} if not row.names() else cast("Row", read_value(node, row.add_problem) or {})


def _read_dead_letters(section: Section, node: yaml.Node) -> ExpectedOutput:
    """Read a list of dead letters, each with what is compared; or a mapping with their `count`."""
    output = _read_output(section, DEAD_LETTERS, node)
    if output.rows is None:
        return output
    for row, line in zip(output.rows.rows, output.rows.lines, strict=True):
        for unknown in [name for name in row if name not in _DEAD_LETTER_COLUMNS]:
            known = ", ".join(f"`{each}`" for each in _DEAD_LETTER_COLUMNS)
            hint = did_you_mean(unknown, _DEAD_LETTER_COLUMNS) or f": a dead letter has {known}"
            section.add_problem(f"{DEAD_LETTERS}: unknown key `{unknown}`{hint}", line)
    rows = tuple({**row, **_reason(row)} for row in output.rows.rows)
    return replace(output, rows=replace(output.rows, rows=rows, is_partial=True))


def _reason(row: Row) -> Row:
    return {"error": Containing(str(row["error"]))} if "error" in row else {}


def _read_broken(section: Section) -> tuple[ExpectedBroken, ...]:
    """Read `{orders: {positive amount: 2}}`: how many rows of each source or step broke each rule."""
    owners = section.section(EXPECTATIONS)
    found = []
    for owner in owners.names() if owners is not None else ():
        assert owners is not None
        rules = owners.section(owner)
        for rule in rules.names() if rules is not None else ():
            assert rules is not None
            rows = rules.integer(rule, minimum=0)
            found.append(ExpectedBroken(line=rules.line_at(rule), owner=owner, rule=rule, rows=rows or 0))
    return tuple(found)
