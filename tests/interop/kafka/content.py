"""What a cluster holds: written by ordinary clients, extended by them, and read back as values to compare."""

import time
from typing import Any, Final

import confluent_kafka
import msgspec
from confluent_kafka import Consumer, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.cli.connect.requests import RequestClient
from penstock.cluster.metadata.image import ResourceType as ConfigKind
from penstock.protocol.messages import (
    alter_client_quotas,
    describe_client_quotas,
    describe_configs,
    describe_share_group_offsets,
    incremental_alter_configs,
    list_transactions,
)

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
OPEN_TRANSACTION: Final = "open"
_WAIT_S: Final = 30.0
_POLL_S: Final = 0.2
_COMPACTION_S: Final = 60.0
_TRANSACTION_MS: Final = 2**31 - 1  # the brokers allow it by `transaction.max.timeout.ms`
_SALT: Final = b"0123456789abcdef"
_USERS: Final = (
    ("alice", ScramMechanism.SCRAM_SHA_256),
    ("alice", ScramMechanism.SCRAM_SHA_512),
    ("bob", ScramMechanism.SCRAM_SHA_512),
)
_ALLOW, _DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
_LITERAL, _PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
_RULES: Final = (
    (ResourceType.TOPIC, "codec-", _PREFIXED, "User:alice", AclOperation.READ, _ALLOW),
    (ResourceType.TOPIC, "transactions", _LITERAL, "User:bob", AclOperation.WRITE, _DENY),
    (ResourceType.GROUP, "*", _LITERAL, "User:alice", AclOperation.ALL, _ALLOW),
    (ResourceType.TRANSACTIONAL_ID, "committed", _LITERAL, "User:alice", AclOperation.DESCRIBE, _ALLOW),
)


class Record(msgspec.Struct, frozen=True):
    offset: int
    timestamp: tuple[int, int]
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    low: int
    high: int
    stable: int
    """The end for read_committed."""
    records: tuple[Record, ...]
    committed_offsets: tuple[int, ...]
    """The offsets that read_committed returns."""


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    partitions: dict[str, Partition]
    topic_settings: dict[str, dict[str, str | None]]
    other_settings: dict[str, dict[str, str | None]]
    acls: tuple[str, ...]
    credentials: dict[str, tuple[tuple[str, int], ...]]
    quotas: dict[str, dict[str, float]]
    group_offsets: dict[str, dict[str, tuple[int, str | None]]]
    share_offsets: dict[str, int]
    transactions: dict[str, tuple[str, int]]
    """State and producer id of each transactional id."""


class Writer:
    """Writes all codecs, transactions of each outcome, groups of each kind, and administrative changes."""

    def __init__(self, bootstrap: str, *, has_share_groups: bool = True) -> None:
        self._bootstrap = bootstrap
        self._has_share_groups = has_share_groups
        self._common: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}
        self._admin = AdminClient(self._common)
        self._kept_open: list[Producer] = []

    def write(self, *, changes_min_isr: bool = True) -> None:
        """Write everything; only to a broker that compacts soon (`log.cleaner.backoff.ms`)."""
        self.create_topics()
        for codec in CODECS:
            self.produce(f"codec-{codec}", codec, 0, 40)
        self._compacted(0)
        self._stamped()
        self._delete_records()
        self.commit_transaction("committed", b"c", ("codec-none", 5))
        self.abort_transaction("aborted", b"a")
        self.keep_transaction_open()
        self.consume("classic", "classic-group", "codec-gzip", 13)
        self.consume("consumer", "consumer-group", "codec-zstd", 17)
        self.share("share-group", "codec-lz4", 11)
        self._configure()
        if changes_min_isr:
            self._set(ConfigKind.BROKER, "", {"min.insync.replicas": "1"})
        self._authorize()
        self._limit()
        self._await_compaction()

    def extend(self, step: int) -> None:
        """Go on with everything, also with the transactional ids and the groups that are there."""
        for codec in CODECS:
            self.produce(f"codec-{codec}", codec, 40 * step, 20)
        self._compacted(step)
        self.commit_transaction("committed", b"c%d" % step, ("codec-none", 5 + step))
        self.abort_transaction("aborted", b"a%d" % step)
        self.consume("classic", "classic-group", "codec-gzip", 5)
        self.consume("consumer", "consumer-group", "codec-zstd", 4)
        self.share("share-group", "codec-lz4", 6)
        _results(self._admin.create_topics([NewTopic(f"step-{step}", 2, 1, config={"retention.ms": "-1"})]))
        self.produce(f"step-{step}", "zstd", 0, 5)
        self._set(ConfigKind.TOPIC, "codec-none", {"max.message.bytes": str(1_000_000 + step)})

    def close(self) -> None:
        """Abandon the open transaction as a killed client does."""
        self._kept_open.clear()

    # -- topics and records

    def create_topics(self) -> None:
        compact = {
            "cleanup.policy": "compact",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0.01",
        }
        small = {**compact, "segment.ms": "1000", "delete.retention.ms": "86400000"}
        topics = [NewTopic(f"codec-{codec}", 2, 1) for codec in CODECS]
        topics += [
            NewTopic("compacted", 1, 1, config=small),
            NewTopic("transactions", 2, 1),
            NewTopic("stamped", 1, 1, config={"message.timestamp.type": "LogAppendTime"}),
            NewTopic("trimmed", 1, 1, config={"retention.ms": "604800000", "segment.bytes": "1048576"}),
            NewTopic("deleted", 3, 1),
            NewTopic("empty", 3, 1),
        ]
        _results(self._admin.create_topics(topics))
        self.produce("deleted", "none", 0, 5)
        _results(self._admin.delete_topics(["deleted"]))
        _results(self._admin.create_partitions([confluent_kafka.admin.NewPartitions("empty", 5)]))

    def produce(self, topic: str, codec: str, first: int, count: int) -> None:
        producer = Producer(
            {**self._common, "compression.type": codec, "enable.idempotence": True, "linger.ms": 50}
        )
        for number in range(first, first + count):
            producer.produce(
                topic,
                key=b"key-%d" % number,
                value=b"value-%d " % number * 20,
                partition=number % 2,
                headers=[("number", b"%d" % number), ("none", None)],
            )
        _flushed(producer)

    def _compacted(self, step: int) -> None:
        """Write the same keys again and again, and tombstones."""
        producer = Producer({**self._common, "linger.ms": 20})
        for number in range(60):
            value = None if number % 10 == 7 and number > 40 else b"%d of step %d" % (number, step)
            producer.produce("compacted", key=b"key-%d" % (number % 12), value=value)
            if number % 20 == 19:
                _flushed(producer)

    def _await_compaction(self) -> None:
        """Wait until the cleaner has removed a record. It leaves the newest segment alone: append to roll it."""
        producer = Producer(self._common)
        deadline = time.monotonic() + _COMPACTION_S
        while True:
            _, end_offset, records = _read_records(self._bootstrap, [("compacted", 0)], "read_uncommitted")[
                "compacted-0"
            ]
            if len(records) < end_offset:
                return
            assert time.monotonic() < deadline, "the topic was not compacted"
            producer.produce("compacted", key=b"last", value=b"%d" % end_offset)
            _flushed(producer)

    def _stamped(self) -> None:
        producer = Producer(self._common)
        for number in range(10):
            producer.produce("stamped", value=b"%d" % number, timestamp=1_600_000_000_000 + number)
        _flushed(producer)

    def _delete_records(self) -> None:
        producer = Producer(self._common)
        for number in range(30):
            producer.produce("trimmed", value=b"%d" % number)
        _flushed(producer)
        _results(self._admin.delete_records([TopicPartition("trimmed", 0, 12)]))

    # -- transactions

    def commit_transaction(self, transactional_id: str, value: bytes, offsets: tuple[str, int]) -> None:
        producer = self._begin(transactional_id, value)
        group = self._group_metadata("transactional-group")
        topic, offset = offsets
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, offset)], group)
        producer.commit_transaction(_WAIT_S)

    def abort_transaction(self, transactional_id: str, value: bytes) -> None:
        self._begin(transactional_id, value).abort_transaction(_WAIT_S)

    def keep_transaction_open(self) -> None:
        producer = self._begin(OPEN_TRANSACTION, b"open")
        group = self._group_metadata("transactional-group")
        producer.send_offsets_to_transaction([TopicPartition("codec-gzip", 1, 3)], group)
        self._kept_open.append(producer)

    def commit_open_transaction(self) -> None:
        """Commit with the producer that has begun it, on whichever broker serves its address by now."""
        self._kept_open.pop().commit_transaction(_WAIT_S)

    def _begin(self, transactional_id: str, value: bytes) -> Producer:
        producer = Producer(
            {
                **self._common,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": _TRANSACTION_MS,
            }
        )
        producer.init_transactions(_WAIT_S)
        producer.begin_transaction()
        for number in range(6):
            producer.produce("transactions", value=value + b"-%d" % number, partition=number % 2)
        _flushed(producer)
        return producer

    def _group_metadata(self, group: str) -> Any:
        consumer = Consumer({**self._common, "group.id": group})
        try:
            return consumer.consumer_group_metadata()
        finally:
            consumer.close()

    # -- groups

    def consume(self, protocol: str, group: str, topic: str, count: int) -> None:
        """Consume `count` records as a member of the group and commit the position."""
        consumer = Consumer(
            {
                **self._common,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        try:
            taken = 0
            deadline = time.monotonic() + _WAIT_S
            while taken < count:
                assert time.monotonic() < deadline, f"{group} got {taken} of {count} records of {topic}"
                records = consumer.consume(count - taken, _POLL_S)
                failed = [each.error() for each in records if each.error() is not None]
                assert not failed, failed
                taken += len(records)
            consumer.commit(asynchronous=False)
        finally:
            consumer.close()

    def share(self, group: str, topic: str, count: int) -> None:
        """Accept at least `count` records as a member of a share group that begins at the first record."""
        if not self._has_share_groups:
            return
        self._set(ConfigKind.GROUP, group, {"share.auto.offset.reset": "earliest"})
        consumer = ShareConsumer(
            {
                **self._common,
                "group.id": group,
                "share.acknowledgement.mode": "explicit",
                "max.poll.records": 3,
            }
        )
        consumer.subscribe([topic])
        try:
            taken = 0
            deadline = time.monotonic() + _WAIT_S
            while taken < count:
                assert time.monotonic() < deadline, f"{group} got {taken} of {count} records of {topic}"
                records = [each for each in consumer.poll(_POLL_S) if each.error() is None]
                for record in records:
                    consumer.acknowledge(record)
                taken += len(records)
                consumer.commit_sync(5)
        finally:
            consumer.close()

    # -- administration

    def _set(self, kind: ConfigKind, name: str, values: dict[str, str]) -> None:
        m = incremental_alter_configs
        configs = [
            m.AlterableConfig(name=each, config_operation=0, value=value) for each, value in values.items()
        ]
        resource = m.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        with RequestClient(self._bootstrap) as client:
            answer = client.ask(m.IncrementalAlterConfigsRequest(resources=[resource])).responses[0]
        assert answer.error_code == 0, answer

    def _configure(self) -> None:
        self._set(
            ConfigKind.TOPIC, "codec-none", {"min.insync.replicas": "1", "max.message.bytes": "1000000"}
        )
        self._set(ConfigKind.TOPIC, "codec-gzip", {"retention.ms": "1209600000"})
        self._set(ConfigKind.BROKER, "1", {"log.cleaner.threads": "2"})
        self._set(ConfigKind.BROKER, "", {"message.max.bytes": "2097152"})
        self._set(ConfigKind.GROUP, "consumer-group", {"consumer.session.timeout.ms": "50000"})

    def _authorize(self) -> None:
        bindings = [AclBinding(*rule[:4], "*", *rule[4:]) for rule in _RULES]
        _results(self._admin.create_acls(bindings))
        for user, mechanism in _USERS:
            info = ScramCredentialInfo(mechanism, 4096)
            changed = UserScramCredentialUpsertion(user, info, b"secret-of-" + user.encode(), _SALT)
            _results(self._admin.alter_user_scram_credentials([changed]))

    def _limit(self) -> None:
        entries = [
            _quota({"user": "alice"}, "producer_byte_rate", 1_048_576.0),
            _quota({"user": "alice", "client-id": None}, "consumer_byte_rate", 2_097_152.0),
            _quota({"client-id": "reporter"}, "request_percentage", 150.5),
            _quota({"ip": "10.0.0.7"}, "connection_creation_rate", 20.0),
        ]
        with RequestClient(self._bootstrap) as client:
            for entry in client.ask(alter_client_quotas.AlterClientQuotasRequest(entries=entries)).entries:
                assert entry.error_code == 0, entry


def _quota(entity: dict[str, str | None], key: str, value: float) -> alter_client_quotas.RequestEntryData:
    parts = [
        alter_client_quotas.RequestEntityData(entity_type=kind, entity_name=name)
        for kind, name in entity.items()
    ]
    return alter_client_quotas.RequestEntryData(
        entity=parts, ops=[alter_client_quotas.OpData(key=key, value=value)]
    )


def assert_same(before: Contents, after: Contents, *, lost_starts: bool = False) -> None:
    """Compare what two brokers read from one directory. Each may have compacted what the other wrote.

    With `lost_starts`, the deletion of records just before a crash may have been forgotten.
    """
    for name in sorted(before.partitions.keys() | after.partitions.keys()):
        old, new = before.partitions.get(name), after.partitions.get(name)
        if old is not None and new is not None:
            if name.startswith("compacted"):
                old, new = _compacted(old), _compacted(new)
            if lost_starts:
                old, new = _from(old, max(old.low, new.low)), _from(new, max(old.low, new.low))
        assert old == new, f"{name} has changed"
    for field in msgspec.structs.fields(Contents):
        if field.name != "partitions":
            assert getattr(before, field.name) == getattr(after, field.name), f"{field.name} have changed"


def _compacted(partition: Partition) -> Partition:
    """The last record of each key, which compaction keeps."""
    latest = {each.key: each for each in partition.records}
    return msgspec.structs.replace(partition, records=tuple(latest.values()), committed_offsets=())


def _from(partition: Partition, low: int) -> Partition:
    return msgspec.structs.replace(
        partition,
        low=low,
        records=tuple(each for each in partition.records if each.offset >= low),
        committed_offsets=tuple(each for each in partition.committed_offsets if each >= low),
    )


# -- reading ----------------------------------------------------------------------------------------------


def read(bootstrap: str, *, has_share_groups: bool = True) -> Contents:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    topics = {
        name: sorted(topic.partitions)
        for name, topic in admin.list_topics(timeout=_WAIT_S).topics.items()
        if not name.startswith("__")
    }
    with RequestClient(bootstrap) as client:
        return Contents(
            partitions=_read_partitions(
                bootstrap, [(name, number) for name, numbers in sorted(topics.items()) for number in numbers]
            ),
            topic_settings={name: _dynamic(client, ConfigKind.TOPIC, name) for name in sorted(topics)},
            other_settings={
                "broker": _dynamic(client, ConfigKind.BROKER, "1"),
                "brokers": _dynamic(client, ConfigKind.BROKER, ""),
                "group": _dynamic(client, ConfigKind.GROUP, "consumer-group"),
            },
            acls=tuple(sorted(map(str, admin.describe_acls(_ANY_ACL).result(_WAIT_S)))),
            credentials=_read_credentials(admin),
            quotas=_read_quotas(client),
            group_offsets={
                group: _read_offsets(admin, group)
                for group in ("classic-group", "consumer-group", "transactional-group")
            },
            share_offsets=_read_share_offsets(client, "share-group") if has_share_groups else {},
            transactions=_read_transactions(client),
        )


_ANY_ACL: Final = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


def _read_partitions(bootstrap: str, partitions: list[tuple[str, int]]) -> dict[str, Partition]:
    everything = _read_records(bootstrap, partitions, "read_uncommitted")
    committed = _read_records(bootstrap, partitions, "read_committed")
    found = {}
    for name, (low, high, records) in everything.items():
        _, stable, visible = committed[name]
        offsets = tuple(each.offset for each in visible)
        found[name] = Partition(
            low=low, high=high, stable=stable, records=tuple(records), committed_offsets=offsets
        )
    return found


def _read_records(
    bootstrap: str, partitions: list[tuple[str, int]], isolation: str
) -> dict[str, tuple[int, int, list[Record]]]:
    """The first offset, the end and the records of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 2,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
        }
    )
    found: dict[str, tuple[int, int, list[Record]]] = {}
    try:
        for topic, number in partitions:
            low, high = _watermarks(consumer, TopicPartition(topic, number))
            found[f"{topic}-{number}"] = (low, high, [])
        consumer.assign([TopicPartition(*each, found[f"{each[0]}-{each[1]}"][0]) for each in partitions])
        unread = set(found)
        deadline = time.monotonic() + _WAIT_S
        while unread:
            assert time.monotonic() < deadline, f"{unread} were not read to their ends"
            for message in consumer.consume(1000, _POLL_S):
                name = f"{message.topic()}-{message.partition()}"
                error = message.error()
                if error is None:
                    found[name][2].append(_record(message))
                else:
                    assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                    unread.discard(name)
    finally:
        consumer.close()
    return found


def _watermarks(consumer: Consumer, partition: TopicPartition) -> tuple[int, int]:
    """Retry while a broker that has just started elects its leaders."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            low, high = consumer.get_watermark_offsets(partition, timeout=_WAIT_S)
        except confluent_kafka.KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)
        else:
            return low, high


def _record(message: confluent_kafka.Message) -> Record:
    headers = tuple((name, value) for name, value in message.headers() or ())
    return Record(message.offset(), message.timestamp(), message.key(), message.value(), headers)


def _dynamic(client: RequestClient, kind: ConfigKind, name: str) -> dict[str, str | None]:
    """The settings of a resource itself, not those that it inherits."""
    m = describe_configs
    own = {ConfigKind.TOPIC: 1, ConfigKind.BROKER: 2 if name else 3, ConfigKind.GROUP: 8}[kind]
    resource = m.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    result = client.ask(m.DescribeConfigsRequest(resources=[resource])).results[0]
    assert result.error_code == 0, result
    return {
        each.name: each.value
        for each in sorted(result.configs, key=lambda each: each.name)
        if each.config_source == own
    }


def _read_credentials(admin: AdminClient) -> dict[str, tuple[tuple[str, int], ...]]:
    found = admin.describe_user_scram_credentials().result(_WAIT_S)
    return {
        user: tuple(
            sorted((str(each.mechanism), each.iterations) for each in description.scram_credential_infos)
        )
        for user, description in sorted(found.items())
    }


def _read_quotas(client: RequestClient) -> dict[str, dict[str, float]]:
    found = client.ask(describe_client_quotas.DescribeClientQuotasRequest(components=[], strict=False))
    return {
        ",".join(sorted(f"{part.entity_type}={part.entity_name}" for part in entry.entity)): {
            value.key: value.value for value in entry.values
        }
        for entry in found.entries or ()
    }


def _read_offsets(admin: AdminClient, group: str) -> dict[str, tuple[int, str | None]]:
    request = confluent_kafka.ConsumerGroupTopicPartitions(group)
    found = admin.list_consumer_group_offsets([request])[group].result(_WAIT_S)
    return {f"{each.topic}-{each.partition}": (each.offset, each.metadata) for each in found.topic_partitions}


def _read_share_offsets(client: RequestClient, group: str) -> dict[str, int]:
    m = describe_share_group_offsets
    request = m.DescribeShareGroupOffsetsRequest(
        groups=[m.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)]
    )
    response = client.ask_coordinator(0, group, request, lambda answer: answer.groups[0].error_code)
    return {
        f"{topic.topic_name}-{each.partition_index}": each.start_offset
        for topic in response.groups[0].topics
        for each in topic.partitions
    }


def _read_transactions(client: RequestClient) -> dict[str, tuple[str, int]]:
    request = list_transactions.ListTransactionsRequest(state_filters=[], producer_id_filters=[])
    return {
        each.transactional_id: (each.transaction_state, each.producer_id)
        for each in client.ask(request).transaction_states
    }


def _flushed(producer: Producer) -> None:
    left = producer.flush(_WAIT_S)
    assert left == 0, f"{left} records were not acknowledged"


def _results(futures: Any) -> None:
    for future in futures.values():
        future.result(_WAIT_S)
