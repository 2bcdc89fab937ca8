"""Reads the parts of a YAML file: sources with their decoder, steps with their operation, outputs with their target."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import yaml

from penstock.spark.decode.settings import DECODERS, Decoder, RawDecoder
from penstock.spark.encode.settings import ENCODERS, Encoder
from penstock.spark.pipeline.core.model import (
    OPERATIONS,
    Expectation,
    Operation,
    Output,
    Source,
    SqlStep,
    Step,
    TableSource,
    Target,
    TopicSource,
)
from penstock.spark.pipeline.outputs import TARGETS
from penstock.spark.pipeline.yaml.fields import key_of, read_fields, read_struct, read_value
from penstock.spark.pipeline.yaml.section import Section, is_null, line_of, text_line_of

_OPERATIONS = {each.kind: each for each in OPERATIONS}
_ENCODERS_OF_OUTPUTS = ("encode", "encode_key")
_C = TypeVar("_C", Decoder, Encoder)
_ONLY_TOPICS = "is for topics, and this source is a table: remove it"
_ONLY_TABLES = "is for tables, and this source is a topic: remove it"


# -- sources


def read_source(name: str, section: Section) -> Source | None:
    kind = section.exactly_one_of(("topic", "topics", "pattern", "table"))
    if kind is None:
        return None
    if kind == "table":
        values = read_fields(section, TableSource, skip=("name", "path"))
        table = TableSource(line=section.line, name=name, path=section.required_text("table"), **values)
        for_topics = ("decode", "starting", "max_offsets_per_trigger", "watermark", "expect")
        section.refuse_unknown(dict.fromkeys(for_topics, _ONLY_TOPICS))
        return table
    # A single text in `topics` is a list of one; a list in `topic` is refused.
    source = TopicSource(
        line=section.line,
        name=name,
        topics=(section.required_text("topic"),) if kind == "topic" else section.texts("topics"),
        decoder=_read_decoder(section),
        expectations=_read_expectations(section),
        **read_fields(section, TopicSource, skip=("name", "topics", "decoder", "expectations")),
    )
    section.refuse_unknown({"format": _ONLY_TABLES, "path": _ONLY_TABLES})
    return source


def _read_decoder(section: Section) -> Decoder:
    found = _read_coder(section, "decode", DECODERS)
    return RawDecoder(line=section.line_at("decode")) if found is None else found


def _read_coder(section: Section, key: str, known: Mapping[str, type[_C]]) -> _C | None:
    """Read a decoder or an encoder: its name, or a mapping of its name to its settings."""
    node = section.node(key)
    if node is None:
        return None
    if isinstance(node, yaml.ScalarNode):  # `decode: raw`: one that needs no settings
        name = section.choice(key, tuple(known))
        if name is None:
            return None
        if not known[name].needs_settings:
            return known[name](line=section.line_at(key))
        section.add_problem_at(key, f"needs settings: write `{key}: {{{name}: {{…}}}}`")
        return None
    outer = section.section_of(node, key)
    found = outer.exactly_one_of(tuple(known))
    outer.refuse_unknown()
    if found is None:
        return None
    kind, settings = known[found], outer.node(found)
    if kind.shorthand and isinstance(settings, yaml.ScalarNode) and not is_null(settings):
        values: dict[str, Any] = {kind.shorthand: outer.required_text(found)}
        return kind(line=line_of(settings), **values)
    if settings is None or is_null(settings):
        settings = yaml.MappingNode("", [], node.start_mark, node.end_mark)
    inner = outer.section_of(settings, found)
    return read_struct(inner, kind, line=inner.line_at(kind.main))


def _read_expectations(section: Section) -> tuple[Expectation, ...]:
    """Each is a mapping, or just the rule."""
    found = []
    for node in section.items("expect"):
        if isinstance(node, yaml.ScalarNode):
            each = Expectation(line=line_of(node), rule=section.text_of(node, "expect"))
        else:
            each = read_struct(section.section_of(node, "expect", line_of(node)), Expectation)
        found.append(msgspec.structs.replace(each, name=each.name or each.rule))
    return tuple(found)


# -- steps


def read_step(name: str, section: Section) -> Step | None:
    """Read a step. The inputs of SQL are found in its text later, when all names are known."""
    kind = section.exactly_one_of(tuple(_OPERATIONS))
    inputs = section.texts("from")
    common = read_fields(section, Step, skip=("name", "inputs", "operation", "expectations"))
    expectations = _read_expectations(section)
    section.refuse_unknown()
    if kind is None:
        return None
    if kind == SqlStep.kind:
        if inputs:
            section.add_problem_at("from", "is not for `sql`, whose inputs are found in its text: remove it")
        inputs = ()
    elif not inputs and not section.has("from"):
        section.add_problem(f"`from` is missing: say what the {kind} step reads")
    operation = _read_operation(section, _OPERATIONS[kind])
    return Step(
        line=section.line, name=name, inputs=inputs, operation=operation, expectations=expectations, **common
    )


def _read_operation(section: Section, kind: type[Operation]) -> Operation:
    node = section.node(kind.kind)
    assert node is not None
    is_single = len(msgspec.structs.fields(kind)) == 2  # the line, and the field that the shorthand sets
    if kind.shorthand and (is_single or not isinstance(node, yaml.MappingNode)):
        line = text_line_of(node) if kind is SqlStep else section.line_at(kind.kind)
        values: dict[str, Any] = {kind.shorthand: read_value(section, kind.kind, kind, kind.shorthand)}
        return kind(line=line, **values)
    return read_struct(section.section_of(node, kind.kind), kind)


# -- outputs


def read_output(name: str, section: Section) -> Output | None:
    kind = section.exactly_one_of(tuple(TARGETS))
    input_name = section.required_text("from")
    common = read_fields(section, Output, skip=("name", "input", "target"))
    if kind is None:
        return None
    target = _read_target(section, TARGETS[kind])
    section.refuse_unknown(
        {
            key_of(field): f"is for outputs to a {other.kind}, and this one goes to a {kind}: remove it"
            for other in TARGETS.values()
            if other.kind != kind
            for field in other.__struct_fields__
        }
    )
    return Output(line=section.line, name=name, input=input_name, target=target, **common)


def _read_target(section: Section, kind: type[Target]) -> Target:
    values = read_fields(section, kind, skip=(kind.main, *_ENCODERS_OF_OUTPUTS))
    for field in set(_ENCODERS_OF_OUTPUTS).intersection(kind.__struct_fields__):
        values[field] = _read_coder(section, field, ENCODERS)
    node = section.node(kind.kind)
    if kind.main:
        values[kind.main] = read_value(section, kind.kind, kind, kind.main)
    elif node is not None and not is_null(node) and section.flag(kind.kind) is False:
        section.add_problem_at(kind.kind, "must be `true`: remove the output if it is not wanted")
    return kind(line=section.line_at(kind.kind), **values)
