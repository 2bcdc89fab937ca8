"""The `outputs` of a YAML file: each goes to exactly one of a topic, a table, the console."""

from types import MappingProxyType

from penstock.spark.pipeline.choices import DELIVERIES, OUTPUT_MODES, OUTPUT_TABLE_FORMATS
from penstock.spark.pipeline.model import ConsoleTarget, Output, TableTarget, Target, TopicTarget
from penstock.spark.pipeline.yaml_section import Section, is_null

_KEYS_OF = MappingProxyType(
    {
        "topic": ("key", "value", "headers", "delivery", "partitions"),
        "table": ("format", "partition_by", "merge_schema"),
        "console": ("rows",),
    }
)


def read_output(name: str, section: Section) -> Output | None:
    kind = section.one_of(tuple(_KEYS_OF))
    input_name = section.required_text("from")
    mode = section.choice("mode", OUTPUT_MODES, "append")
    trigger_ms = section.duration_ms("trigger")
    if kind is None:
        return None
    target = _read_target(kind, section)
    section.refuse_unknown(
        {
            key: f"is for outputs to a {other}, and this one goes to a {kind}: remove it"
            for other, keys in _KEYS_OF.items()
            if other != kind
            for key in keys
        }
    )
    return Output(
        line=section.line, name=name, input=input_name, target=target, mode=mode, trigger_ms=trigger_ms
    )


def _read_target(kind: str, section: Section) -> Target:
    line = section.line_at(kind)
    if kind == "topic":
        return TopicTarget(
            line=line,
            topic=section.required_text("topic"),
            key=section.text("key"),
            value=section.text("value"),
            headers=section.mapping("headers"),
            delivery=section.choice("delivery", DELIVERIES, "exactly-once"),
            partitions=section.integer("partitions"),
        )
    if kind == "table":
        return TableTarget(
            line=line,
            path=section.required_text("table"),
            format=section.choice("format", OUTPUT_TABLE_FORMATS, "delta"),
            partition_by=section.texts("partition_by"),
            merge_schema=section.flag("merge_schema", default=False),
        )
    node = section.node("console")
    if node is not None and not is_null(node) and not section.flag("console", default=True):
        section.note_at("console", "must be `true`: remove the output if it is not wanted")
    return ConsoleTarget(line=line, rows=section.integer("rows") or 20)
