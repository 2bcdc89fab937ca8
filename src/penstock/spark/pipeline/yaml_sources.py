"""The `sources` of a YAML file: topics with their decoders, tables; and the expectations that steps have too."""

from collections.abc import Callable
from types import MappingProxyType

import yaml

from penstock.spark.pipeline.model import (
    AvroDecoder,
    Decoder,
    EnvelopeDecoder,
    Expectation,
    JsonDecoder,
    Otherwise,
    ProtobufDecoder,
    RawDecoder,
    Source,
    TableSource,
    TopicSource,
    Watermark,
)
from penstock.spark.pipeline.yaml_section import Section, is_null, line_of

_DECODERS = ("json", "envelope", "avro", "protobuf", "raw")
_ONLY_OF_TOPICS = "is for topics, and this source is a table: remove it"
_ONLY_OF_TABLES = "is for tables, and this source is a topic: remove it"


def read_source(name: str, section: Section) -> Source | None:
    kind = section.one_of(("topic", "topics", "pattern", "table"))
    if kind is None:
        return None
    if kind == "table":
        return _read_table(name, section)
    # A single text in `topics` is a list of one; a list in `topic` is refused.
    topics = (section.required_text("topic"),) if kind == "topic" else section.texts("topics")
    source = TopicSource(
        line=section.line,
        name=name,
        topics=topics,
        pattern=section.text("pattern"),
        decoder=_read_decoder(section),
        starting=section.text("starting") or "earliest",
        max_offsets_per_trigger=section.integer("max_offsets_per_trigger"),
        watermark=read_watermark(section),
        expectations=read_expectations(section),
        options=section.mapping("options"),
    )
    section.refuse_unknown({"format": _ONLY_OF_TABLES, "path": _ONLY_OF_TABLES})
    return source


def _read_table(name: str, section: Section) -> TableSource:
    source = TableSource(
        line=section.line,
        name=name,
        path=section.required_text("table"),
        format=section.text("format") or "delta",
        options=section.mapping("options"),
    )
    for_topics = ("decode", "starting", "max_offsets_per_trigger", "watermark", "expect")
    section.refuse_unknown(dict.fromkeys(for_topics, _ONLY_OF_TOPICS))
    return source


def _read_decoder(section: Section) -> Decoder:
    node = section.node("decode")
    if node is None:
        return RawDecoder(line=section.line)
    line = section.line_at("decode")
    if isinstance(node, yaml.ScalarNode):  # `decode: raw`: a decoder that needs no settings
        kind = section.choice("decode", _DECODERS, "raw")
        if kind in {"raw", "envelope"}:
            return RawDecoder(line=line) if kind == "raw" else EnvelopeDecoder(line=line)
        section.note_at("decode", f"needs settings: write `decode: {{{kind}: {{…}}}}`")
        return RawDecoder(line=line)
    outer = section.section_of(node, "decode")
    outer_kind = outer.one_of(_DECODERS)
    outer.refuse_unknown()
    if outer_kind is None:
        return RawDecoder(line=line)
    inner_node = outer.node(outer_kind)
    if outer_kind == "json" and isinstance(inner_node, yaml.ScalarNode) and not is_null(inner_node):
        return JsonDecoder(line=line_of(inner_node), schema=outer.required_text("json"))
    if inner_node is None or is_null(inner_node):
        inner_node = yaml.MappingNode("", [], node.start_mark, node.end_mark)
    inner = outer.section_of(inner_node, outer_kind)
    decoder = _READERS[outer_kind](inner)
    inner.refuse_unknown()
    return decoder


def _read_json(section: Section) -> Decoder:
    return JsonDecoder(
        line=section.line_at("schema"),
        schema=section.required_text("schema"),
        allow_null=section.flag("allow_null", default=False),
    )


def _read_raw(section: Section) -> Decoder:
    return RawDecoder(
        line=section.line,
        text=section.flag("text", default=False),
        allow_null=section.flag("allow_null", default=True),
    )


def _read_envelope(section: Section) -> Decoder:
    return EnvelopeDecoder(
        line=section.line_at("payload"),
        payload=section.text("payload"),
        event_types=section.texts("event_types"),
    )


def _read_avro(section: Section) -> Decoder:
    schemas = section.section("schemas")
    by_id: dict[int, str] = {}
    for key in schemas.names() if schemas is not None else ():
        assert schemas is not None
        if key.isdecimal():
            by_id[int(key)] = schemas.required_text(key)
        else:
            schemas.note_at(key, "must be the number of a schema, such as `7: order.avsc`")
    return AvroDecoder(
        line=section.line,
        reader_schema=section.text("reader_schema"),
        schemas=by_id,
        registry_url=section.text("registry_url"),
        framed=section.flag("framed", default=True),
        allow_null=section.flag("allow_null", default=False),
    )


def _read_protobuf(section: Section) -> Decoder:
    return ProtobufDecoder(
        line=section.line,
        descriptors=section.required_text("descriptors"),
        message=section.required_text("message"),
        framed=section.flag("framed", default=True),
        allow_null=section.flag("allow_null", default=False),
    )


_READERS = MappingProxyType[str, Callable[[Section], Decoder]](
    {
        "json": _read_json,
        "raw": _read_raw,
        "envelope": _read_envelope,
        "avro": _read_avro,
        "protobuf": _read_protobuf,
    }
)


def read_watermark(section: Section) -> Watermark | None:
    inner = section.section("watermark")
    if inner is None:
        return None
    watermark = Watermark(
        line=inner.line,
        column=inner.required_text("column"),
        delay_ms=inner.duration_ms("delay", required=True) or 0,
    )
    inner.refuse_unknown()
    return watermark


def read_expectations(section: Section) -> tuple[Expectation, ...]:
    """Each is a mapping, or just the rule."""
    return tuple(_read_expectation(section, node) for node in section.items("expect"))


def _read_expectation(section: Section, node: yaml.Node) -> Expectation:
    if isinstance(node, yaml.ScalarNode):
        rule = section.text_of(node, "expect")
        return Expectation(line=line_of(node), name=rule, rule=rule)
    inner = section.part_of(node, "expect")
    rule = inner.required_text("rule")
    otherwise = inner.choice("otherwise", [each.value for each in Otherwise], Otherwise.DEAD_LETTER.value)
    name = inner.text("name") or rule
    inner.refuse_unknown()
    return Expectation(line=inner.line, name=name, rule=rule, otherwise=Otherwise(otherwise))
