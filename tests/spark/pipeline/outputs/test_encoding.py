"""The settings of encoders in pipeline files."""

import pytest

from penstock.spark.encode.settings import AvroEncoder, JsonSchemaEncoder
from penstock.spark.pipeline import define, encode_avro, encode_json_schema
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.outputs import TopicTarget
from penstock.spark.pipeline.yaml.file import read_yaml

TEXT = (
    "pipeline: p\nsources: {{orders: {{topic: orders}}}}\noutputs:\n  out: {{from: orders, topic: out, {}}}\n"
)


def target_of(settings: str) -> TopicTarget:
    (output,) = read_yaml(TEXT.format(settings), "f.yaml", {}).outputs
    assert isinstance(output.target, TopicTarget)
    return output.target


def test_both_forms_declare_the_same_encoders() -> None:
    found = target_of(
        "key: key, encode: {avro: {registry_url: 'http://r', register: true, otherwise: dead-letter}}, "
        "encode_key: {json_schema: {framed: false}}"
    )
    assert found.encode == AvroEncoder(
        line=4, registry_url="http://r", register=True, otherwise="dead-letter"
    )
    assert found.encode_key == JsonSchemaEncoder(line=4, framed=False)
    definition = define("p")
    definition.to_topic(
        "out",
        definition.topic("orders"),
        key="key",
        encode=encode_avro(registry_url="http://r", register=True, otherwise="dead-letter"),
        encode_key=encode_json_schema(framed=False),
    )
    assert definition.build().outputs[0].target.rejects_rows


def test_an_output_with_dead_letters_has_a_query_for_them() -> None:
    settings = "encode: {avro: {framed: false, otherwise: dead-letter}}"
    keys = [query.key for query in plan_queries(read_yaml(TEXT.format(settings), "f.yaml", {}))]
    assert keys == ["out", "dead-letters.output.out"]
    assert len(plan_queries(read_yaml(TEXT.format("encode: {avro: {framed: false}}"), "f.yaml", {}))) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("encode: {avro: {}}", "encode: avro: the framing has the id of the schema"),
        ("encode: avro", "`encode` needs settings: write"),
        ("encode: {xml: {}}", "needs exactly one of `avro`, `json_schema` or `protobuf`"),
        (
            "encode: {avro: {framed: false, registers: true}}",
            "unknown key `registers`; did you mean `register`?",
        ),
        ("encode: {avro: {framed: false, register: true}}", "`register` needs a registry"),
        (
            "encode: {avro: {registry_url: 'http://r', schema_id: 3}}",
            "`schema_id` is the registry's to assign",
        ),
        ("encode: {avro: {framed: false, otherwise: drop}}", "`otherwise` cannot be `drop`"),
        ("encode: {protobuf: {framed: false}}", "a schema cannot be made from the columns for protobuf"),
        ("encode_key: {avro: {framed: false}}", "`encode_key` encodes the value of `key`, which is missing"),
        (
            "mode: update, encode: {avro: {framed: false, otherwise: dead-letter}}",
            "in update mode rows that cannot be encoded stop the query",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        target_of(settings)
    assert message in str(caught.value)
