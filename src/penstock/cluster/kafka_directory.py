"""Examines the data directory of an Apache Kafka node: what Penstock takes over, and why it refuses. Changes nothing.

Kafka writes `quorum-state` without the id of the cluster, so the file tells which of the two ran last. Penstock
examines a directory before its first start after Kafka; `penstock cluster check-kafka` does it at any time.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from penstock.cluster.metadata import replay
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.records import decode_batches
from penstock.cluster.metadata.state import METADATA_VERSION, SUPPORTED_FEATURES
from penstock.cluster.metadata.topic_names import CLUSTER_METADATA
from penstock.cluster.quorum.quorum_state import QUORUM_STATE
from penstock.cluster.quorum.snapshots import SnapshotFiles
from penstock.cluster.raft.records import voter_ids_in, voter_sets_in
from penstock.protocol.coordinator_records import number_at_start
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import streams_group_metadata_record
from penstock.protocol.records.batch import BatchHeader, iter_batches
from penstock.protocol.records.record import iter_records
from penstock.storage.batch_scan import BatchScan
from penstock.storage.directory import metadata_files
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.errors import DirectoryMismatch, LogCorrupt
from penstock.storage.files import Buffer, FileSystem, read_whole
from penstock.storage.journal.reading import read_journal

_SEGMENT_NAME: Final = re.compile(r"(\d{20})\.log")
_NAMES_SHOWN: Final = 5
_KEY_AT: Final = 2
"""The position of a coordinator record's key after its type."""
_GROUPS_TOPIC: Final = "__consumer_offsets"
_METADATA_DIRECTORY: Final = f"{CLUSTER_METADATA}-0"


class CannotTakeOver(Exception):
    """Penstock does not start on the directory; the message has each reason and what to do."""


class Inspection(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`refusals` are reasons not to start; `remarks` are differences to know about."""

    cluster_id: str | None
    node_id: int | None
    metadata_version: int
    stopped_cleanly: bool
    carries_over: dict[str, int]
    refusals: tuple[str, ...]
    remarks: tuple[str, ...]


def ran_kafka_last(files: FileSystem, directory: str) -> bool:
    """Whether Kafka was the last to take part in the quorum of this directory."""
    try:
        content = read_whole(files, f"{directory}/{_METADATA_DIRECTORY}/{QUORUM_STATE}")
    except FileNotFoundError:
        return False
    return b'"clusterId":"' not in content or b'"clusterId":""' in content


def require_takeover(files: FileSystem, directory: str) -> None:
    """Raise `CannotTakeOver` before anything in a directory of Kafka's is changed; any other directory passes."""
    if not ran_kafka_last(files, directory):
        return
    found = inspect(files, directory)
    if found.refusals:
        raise CannotTakeOver(f"cannot take over {directory} from Apache Kafka: {'; '.join(found.refusals)}")


def inspect(files: FileSystem, directory: str) -> Inspection:
    """Examine a directory. Blocks; raises `OSError`."""
    return _Examination(files, directory).run()


class _Examination:
    def __init__(self, files: FileSystem, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._refusals: list[str] = []
        self._remarks: list[str] = []
        self._carries_over: dict[str, int] = {}
        self._voter_ids: tuple[int, ...] = ()
        self._is_quorum_static = True

    def run(self) -> Inspection:
        meta = self._read_meta()
        image = MetadataImage("" if meta is None else meta.cluster_id)
        was_clean = metadata_files.read_clean_mark(self._files, self._directory) is not None
        if meta is not None and self._load(image):
            self._check_features(image)
            self._check_broker(image, meta.node_id)
            self._check_topics(image)
            self._check_tokens(image)
            self._check_groups()
            self._check_journal(was_clean=was_clean)
            self._count(image)
        if not was_clean:
            self._remarks.append("the node did not stop cleanly: the next start recovers the logs")
        return Inspection(
            cluster_id=None if meta is None else meta.cluster_id,
            node_id=None if meta is None else meta.node_id,
            metadata_version=image.features.metadata_version,
            stopped_cleanly=was_clean,
            carries_over=self._carries_over,
            refusals=tuple(self._refusals),
            remarks=tuple(self._remarks),
        )

    def _read_meta(self) -> metadata_files.Meta | None:
        path = f"{self._directory}/{metadata_files.META}"
        try:
            meta = metadata_files.read_meta(self._files, self._directory)
        except DirectoryMismatch as error:
            if re.search(rb"^version\s*=\s*0\s*$", read_whole(self._files, path), re.MULTILINE):
                self._refusals.append(
                    f"{path} is of a broker with ZooKeeper: migrate the cluster to KRaft with Kafka 3.9 first"
                )
            else:
                self._refusals.append(str(error))
            return None
        if meta is None:
            self._refusals.append(f"{path} is missing: give the data directory of a Kafka node (log.dirs)")
        return meta

    # -- the metadata

    def _load(self, image: MetadataImage) -> bool:
        """Apply snapshot and log to the image; whether that was possible."""
        path = f"{self._directory}/{_METADATA_DIRECTORY}"
        if not self._files.exists(path):
            self._refusals.append(
                f"{path} is missing: the node ran without KRaft, was never started, or keeps its metadata log in "
                "another directory (metadata.log.dir)"
            )
            return False
        try:
            for data in self._metadata_batches(path):
                self._note_voters(data)
                for last_offset, records in decode_batches(data):
                    replay.apply(image, records, last_offset)
        except (MetadataError, LogCorrupt, ProtocolError) as error:
            self._refusals.append(f"its metadata cannot be read, it may be of a newer Kafka: {error}")
            return False
        if not image.features.finalized:
            self._refusals.append(
                "its metadata is empty: the directory was formatted, and Kafka was never started on it. Start Kafka "
                "once, or give Penstock a directory that does not exist"
            )
            return False
        return True

    def _note_voters(self, data: Buffer) -> None:
        """Keep the voters of the last record of them, or without any, those that the last leader named."""
        for position, header in iter_batches(data):
            for _, voters in voter_sets_in(data, position, header):
                self._voter_ids, self._is_quorum_static = voters.ids, False
            if self._is_quorum_static:
                self._voter_ids = voter_ids_in(data, position, header) or self._voter_ids

    def _metadata_batches(self, path: str) -> Iterator[Buffer]:
        snapshots = SnapshotFiles(self._files, path)
        found = snapshots.list()
        begin_offset = 0
        if found:
            yield from snapshots.batches(found[-1])
            begin_offset = found[-1].offset
        for header, data in _batches(self._files, path):
            if header.base_offset >= begin_offset:
                yield data

    def _check_features(self, image: MetadataImage) -> None:
        for name, level in sorted(image.features.finalized.items()):
            low, high = SUPPORTED_FEATURES.get(name, (0, 0))
            if level > high:
                self._refusals.append(
                    f"{name} is at level {level}, which is too new: this version of Penstock works with {low} to "
                    f"{high}. Use a newer Penstock, or lower it with kafka-features.sh while Kafka runs"
                )
            elif level < low:
                self._refusals.append(
                    f"{name} is at level {level}, and Penstock works with {low} to {high}: raise it with "
                    "`kafka-features.sh upgrade --release-version 4.0` or newer while Kafka runs"
                )

    def _check_broker(self, image: MetadataImage, node_id: int) -> None:
        broker = image.brokers.get(node_id)
        if broker is not None and len(broker.log_dirs) > 1:
            self._refusals.append(
                f"node {node_id} has {len(broker.log_dirs)} log directories, and Penstock uses one: move all replicas "
                "to one with kafka-reassign-partitions.sh, and remove the others from log.dirs"
            )
        self._check_quorum(node_id, [each for each in self._voter_ids if each != node_id])

    def _check_quorum(self, node_id: int, others: Sequence[int]) -> None:
        if node_id not in self._voter_ids and others:
            self._remarks.append(
                f"node {node_id} is no controller: it starts only while the controllers {_some(others)} run"
            )
        elif self._is_quorum_static and others:
            self._refusals.append(
                f"nodes {_some(others)} are controllers too, of a static quorum (kraft.version 0), which Penstock "
                "cannot take part in: run `kafka-features.sh upgrade --feature kraft.version=1` while Kafka runs"
            )
        elif self._is_quorum_static:
            self._remarks.append(
                "the quorum is static (kraft.version 0): Penstock raises kraft.version to 1. Kafka 4 can take such a "
                "directory back, with the same controller.quorum.voters"
            )
        elif others:
            self._remarks.append(
                f"nodes {_some(others)} are controllers too: node {node_id} serves when a majority of them runs"
            )

    def _check_topics(self, image: MetadataImage) -> None:
        settings = image.settings_of(ResourceType.TOPIC)
        tiered = [name for name, values in settings.items() if values.get("remote.storage.enable") == "true"]
        if tiered:
            self._refusals.append(
                f"{len(tiered)} topics are tiered ({_some(tiered)}): a part of their records is in remote storage, "
                "which Penstock does not read. Disable it with Kafka (remote.storage.enable=false and "
                "remote.log.delete.on.disable=true), or move them with a mirror"
            )

    def _check_tokens(self, image: MetadataImage) -> None:
        if image.delegation_tokens:
            self._refusals.append(
                f"the cluster has {len(image.delegation_tokens)} delegation tokens, and clients cannot log in to "
                "Penstock with them: expire them with kafka-delegation-tokens.sh, and give these clients SCRAM users"
            )

    # -- logs and groups

    def _check_groups(self) -> None:
        streams: set[str] = set()
        for name in self._files.list(self._directory):
            partition = PartitionName.parse(name)
            if partition is not None and partition.topic == _GROUPS_TOPIC:
                _note_streams_groups(self._files, f"{self._directory}/{name}", streams)
        if streams:
            names = sorted(streams)
            self._refusals.append(
                f"{len(names)} groups use the protocol of Kafka Streams ({_some(names)}), which Penstock does not "
                "serve: set group.protocol=classic in these applications, and delete the groups with "
                "kafka-streams-groups.sh"
            )

    def _check_journal(self, *, was_clean: bool) -> None:
        if was_clean or not ran_kafka_last(self._files, self._directory):
            return
        if read_journal(self._files, self._directory).pieces:
            self._refusals.append(
                "Penstock crashed on this directory, and Kafka ran on it before `penstock log recover`: its journal "
                "does not fit the logs any more. Remove the files .journal.* to continue with what Kafka has"
            )

    def _count(self, image: MetadataImage) -> None:
        self._carries_over |= {
            "topics": len(image.topics),
            "partitions": sum(len(topic.partitions) for topic in image.topics.values()),
            "settings": sum(map(len, image.configs.values())),
            "ACLs": len(image.acls),
            "SCRAM credentials": len(image.credentials),
            "quotas": sum(map(len, image.quotas.values())),
        }
        low, high = SUPPORTED_FEATURES[METADATA_VERSION]
        if low <= image.features.metadata_version < high:
            self._remarks.append(
                f"metadata.version stays at {image.features.metadata_version}: Kafka's older release can take the "
                "directory back, until `penstock cluster upgrade`"
            )


def _batches(files: FileSystem, path: str) -> Iterator[tuple[BatchHeader, Buffer]]:
    """The intact batches of a log, up to a torn end."""
    bases = sorted(match[1] for name in files.list(path) if (match := _SEGMENT_NAME.fullmatch(name)))
    for base in bases:
        file = files.open(f"{path}/{base}.log", writable=False)
        try:
            scan = BatchScan(file.read, 0, file.size(), int(base), check_crc=True)
            for _, header in scan:
                yield header, scan.batch(header)
        finally:
            file.close()


def _note_streams_groups(files: FileSystem, path: str, streams: set[str]) -> None:
    """Add the streams groups in a partition of the groups' topic, and drop those that are deleted."""
    for header, data in _batches(files, path):
        if header.is_control:
            continue
        for record in iter_records(data):
            key = record.key or b""
            if number_at_start(key) == streams_group_metadata_record.RECORD_TYPE:
                group = streams_group_metadata_record.decode_key(key, 0, _KEY_AT).group_id
                (streams.discard if record.value is None else streams.add)(group)


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(map(str, names[:_NAMES_SHOWN]))
    return f"{shown}, …" if len(names) > _NAMES_SHOWN else shown
