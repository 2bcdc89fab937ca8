"""The encoders and their settings. A new encoder is a class here, listed in `ENCODERS`, and the module that it names.

The fields of a class are its keys in a YAML file. Nothing here imports Spark: a pipeline file is read without it.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import msgspec

TOPIC_NAME = "TopicName"
RECORD_NAME = "RecordName"
TOPIC_RECORD_NAME = "TopicRecordName"
STOP = "stop"
DEAD_LETTER = "dead-letter"


class Encoder(msgspec.Struct, frozen=True, kw_only=True):
    """Confluent's framing with the id of the schema, or with `framed=False` the body alone."""

    kind: ClassVar[str]  # its name in pipeline files
    module: ClassVar[str]  # has `value_encoder(settings, kind, place)`; imported on use
    shorthand: ClassVar[str] = ""  # the field that `{kind: text}` sets
    main: ClassVar[str] = ""  # the field whose line an error names
    needs_settings: ClassVar[bool] = True
    can_infer: ClassVar[bool] = True  # whether a schema can be made from the columns

    line: int = 0
    registry_url: str | None = None
    register: bool = False  # false: the schema must be in the registry already
    subject: str | None = None  # instead of the one that the strategy names
    subject_strategy: Annotated[str, (TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME)] = TOPIC_NAME
    schema_id: int | None = None  # instead of a registry
    framed: bool = True
    otherwise: Annotated[str, (STOP, DEAD_LETTER)] = STOP  # for a row that cannot be encoded

    @property
    def label(self) -> str:
        return self.kind.replace("_", " ")

    @property
    def schema_file(self) -> str | None:
        raise NotImplementedError

    def problems(self) -> Iterator[str]:
        """Yield the errors that show without a registry and without the rows."""
        if self.registry_url is not None and self.schema_id is not None:
            yield "`schema_id` is the registry's to assign: remove it, or remove `registry_url`"
        if self.registry_url is None:
            if self.register:
                yield "`register` needs a registry: write `registry_url: http://HOST:PORT`"
            elif self.framed and self.schema_id is None:
                yield (
                    "the framing has the id of the schema: write `registry_url: http://HOST:PORT`, "
                    "or `schema_id: N`, or `framed: false` for the body alone"
                )
        if self.schema_file is None and not self.can_infer and (self.register or self.registry_url is None):
            yield f"a schema cannot be made from the columns for {self.kind}: name its file"


class AvroEncoder(Encoder, frozen=True):
    kind = "avro"
    module = "penstock.spark.encode.avro.values"

    schema: str | None = (
        None  # a file; without it, the newest of the subject, or with `register` one is inferred
    )
    record_name: str | None = None  # of an inferred schema; by default the topic's

    @property
    def schema_file(self) -> str | None:
        return self.schema


class JsonSchemaEncoder(Encoder, frozen=True):
    kind = "json_schema"
    module = "penstock.spark.encode.json_schema.values"

    schema: str | None = (
        None  # a file; without it, the newest of the subject, or with `register` one is inferred
    )
    record_name: str | None = None  # the title of an inferred schema; by default the topic's name

    @property
    def schema_file(self) -> str | None:
        return self.schema


class ProtobufEncoder(Encoder, frozen=True):
    kind = "protobuf"
    module = "penstock.spark.encode.protobuf"
    can_infer = False

    descriptors: str | None = None  # a file made by `protoc --descriptor_set_out --include_imports`
    message: str | None = None  # full name; by default the first message of the file

    @property
    def schema_file(self) -> str | None:
        return self.descriptors


ENCODERS: Mapping[str, type[Encoder]] = {
    each.kind: each for each in (AvroEncoder, JsonSchemaEncoder, ProtobufEncoder)
}
