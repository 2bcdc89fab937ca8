"""Topics as tables: how the values of each become columns."""

import difflib
from collections.abc import Mapping, Sequence

import duckdb
import msgspec

from penstock.client.blocking.client import BlockingClient
from penstock.client.errors import BrokerError
from penstock.protocol.errors import ErrorCode
from penstock.sql.columns import ERROR, RECORD_COLUMNS, TEXT, VALUE
from penstock.sql.dataset import Decoding, TopicDataset
from penstock.sql.errors import SqlError
from penstock.sql.infer import Sample, envelope_columns, infer_json, infer_payload, take_sample
from penstock.sql.json_columns import JsonColumn, json_view
from penstock.sql.names import quoted
from penstock.sql.query import Query
from penstock.sql.schema import TopicSchema
from penstock.sql.snapshot import Snapshot, take_snapshot


class TopicFormat(msgspec.Struct, frozen=True, kw_only=True):
    """How the values of a topic become columns. `label` says it in a word."""

    label: str
    key_is_text: bool = True
    json: tuple[JsonColumn, ...] | None = None
    decoding: Decoding | None = None

    def view(self, raw: str, query: Query) -> str:
        """Return the SELECT that makes the topic's columns of those of its scan."""
        if self.json is not None:
            return json_view(raw, self.json, [each.name for each in self.json if query.may_read(each.name)])
        if self.decoding is not None:
            names = [*map(quoted, self.decoding.schema.names), *RECORD_COLUMNS, ERROR]
            return f"SELECT {', '.join(names)} FROM {quoted(raw)}"  # noqa: S608
        if self.label == "text":
            error = f"CASE WHEN {TEXT} IS NULL AND {VALUE} IS NOT NULL THEN 'invalid UTF-8' END"
            return (
                f"SELECT {TEXT} AS value, {', '.join(RECORD_COLUMNS)}, {error} AS {ERROR} FROM {quoted(raw)}"  # noqa: S608
            )
        return f"SELECT {', '.join(RECORD_COLUMNS)}, NULL::VARCHAR AS {ERROR} FROM {quoted(raw)}"  # noqa: S608


class Topics:
    """The topics of a cluster. The format of a topic is inferred once, when it first has records."""

    def __init__(
        self,
        client: BlockingClient,
        schemas: Mapping[str, TopicSchema],
        *,
        registry_url: str | None = None,
        is_time_ordered: bool = False,
    ) -> None:
        self._client = client
        self._schemas = schemas
        self._registry_url = registry_url
        self._is_time_ordered = is_time_ordered
        self._formats: dict[str, TopicFormat] = {}

    def names(self) -> dict[str, int]:
        """Return the number of partitions of each topic that is not internal."""
        found = self._client.topics()
        return {
            name: len(found[name].partitions)
            for name in sorted(found)
            if not found[name].is_internal and not found[name].error
        }

    def find(self, name: str) -> str | None:
        """Return the topic of this name. Names of SQL ignore case, those of topics do not: an exact one wins."""
        exact = self._client.topics([name]).get(name)
        if exact is not None and exact.error == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise BrokerError(exact.error, f"reading topic {name}")
        if exact is not None and not exact.error:
            return name
        same = [each for each in self._client.topics() if each.lower() == name.lower()]
        return same[0] if len(same) == 1 else None

    def open(self, topic: str, after: Snapshot | None = None) -> tuple[TopicDataset, TopicFormat]:
        """Make the topic's table up to now; with `after` only what has come since that snapshot."""
        snapshot = take_snapshot(self._client, topic, is_time_ordered=self._is_time_ordered)
        found = self.format_of(snapshot)
        if after is not None:
            snapshot = snapshot.after(after)
        dataset = TopicDataset(self._client, snapshot, key_is_text=found.key_is_text, decoding=found.decoding)
        return dataset, found

    def format_of(self, snapshot: Snapshot) -> TopicFormat:
        topic = snapshot.topic
        if topic in self._formats:
            return self._formats[topic]
        sample = take_sample(self._client, snapshot)
        given = self._schemas.get(topic)
        found = self._infer(sample) if given is None else self._declared(topic, given, sample)
        found = msgspec.structs.replace(found, key_is_text=sample.key_is_text)
        if sample.values or given is not None:
            self._formats[topic] = found
        return found

    def _infer(self, sample: Sample) -> TopicFormat:
        if sample.is_framed and self._registry_url is not None:
            return self._decoded(TopicSchema("avro"), sample)
        columns = infer_json(sample.values)
        if columns is not None:
            return TopicFormat(label="envelope" if _is_envelope(columns) else "json", json=columns)
        return TopicFormat(label="text" if sample.is_text else "raw")

    def _declared(self, topic: str, given: TopicSchema, sample: Sample) -> TopicFormat:
        try:
            if given.kind == "json":
                if given.argument:
                    return TopicFormat(label="json", json=parse_columns(given.argument))
                return TopicFormat(label="json", json=infer_json(sample.values) or ())
            if given.kind == "envelope":
                payload = f"STRUCT({given.argument})" if given.argument else infer_payload(sample.values)
                return TopicFormat(label="envelope", json=envelope_columns(payload))
            if given.kind in ("text", "raw"):
                return TopicFormat(label=given.kind)
            return self._decoded(given, sample)
        except SqlError as error:
            raise SqlError(f"the schema of {topic}: {error}") from None

    def _decoded(self, given: TopicSchema, sample: Sample) -> TopicFormat:
        from penstock.sql.decoding import decoding_of  # noqa: PLC0415 - needs fastavro or protobuf

        return TopicFormat(
            label=given.kind, decoding=decoding_of(given, sample.values, registry_url=self._registry_url)
        )


def parse_columns(text: str) -> tuple[JsonColumn, ...]:
    """Parse `name TYPE, …`, as DuckDB does."""
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        try:
            connection.execute(f"CREATE TABLE columns ({text})").fetchall()
            found = connection.execute("DESCRIBE columns").fetchall()
        except duckdb.Error as error:
            raise SqlError(f"`{text}` is not a list of columns ({' '.join(str(error).split())})") from None
    return tuple(JsonColumn(row[0], row[1]) for row in found)


def unknown_table(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"there is no topic {name}: did you mean {quoted_if_needed(near[0])}?"
    some = ", ".join(known[:5]) or "none yet"
    return f"there is no topic {name}: SHOW TABLES lists the topics ({some})"


def quoted_if_needed(name: str) -> str:
    return name if name.isidentifier() and name.islower() else quoted(name)


def _is_envelope(columns: Sequence[JsonColumn]) -> bool:
    return {"eventId", "eventType"} <= {each.name for each in columns}
