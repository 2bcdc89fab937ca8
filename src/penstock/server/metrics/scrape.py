"""All metrics of a broker in Prometheus's format.

Nothing here is kept between scrapes: every value is read from the component that owns it. A log that has not been used
since the start stays closed. There may be thousands of partitions and groups: the loop gets its turn between pieces.
"""

import asyncio
import os
import re
import resource
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any

from penstock import __version__
from penstock.cluster.metadata.state import NO_LEADER
from penstock.cluster.replica import Replica
from penstock.observability.exposition import (
    Family,
    Histogram,
    Kind,
    Labels,
    head,
    histogram_samples,
    sample,
    text,
)
from penstock.server.context import Services
from penstock.server.metrics.mirrors import mirror_families

_PIECE = 500  # samples between two turns of the loop

Sample = tuple[Labels, float]
"""Its labels and its value."""


def _family(name: str, kind: Kind, explanation: str) -> Family:
    return Family(name=f"penstock_{name}", kind=kind, help=explanation)


async def scrape(services: Services) -> AsyncIterator[str]:
    """Pieces of the text, in order."""
    yield "".join(_process())
    for section in (_requests, _identity, _node, _disk, _damage):
        yield "".join(section(services))
    for families in (_partitions, _groups, _shares, mirror_families, _clients):
        async for piece in _in_pieces(families(services)):
            yield piece


async def _in_pieces(families: Iterable[tuple[Family, Iterable[Sample]]]) -> AsyncIterator[str]:
    for family, samples in families:
        lines = list(head(family))
        for labels, value in samples:
            lines.append(sample(family, value, labels))
            if len(lines) >= _PIECE:
                yield "".join(lines)
                lines.clear()
                await asyncio.sleep(0)
        yield "".join(lines)


# -- the process


def _process() -> Iterator[str]:
    info = Family(
        name="penstock_build_info", kind="gauge", help="Always 1; the label is the version of the broker"
    )
    yield from text(info, [({"version": __version__}, 1)])
    usage = resource.getrusage(resource.RUSAGE_SELF)
    facts: tuple[tuple[str, Kind, str, float], ...] = (
        (
            "cpu_seconds_total",
            "counter",
            "User and system CPU time of the process, in seconds",
            usage.ru_utime + usage.ru_stime,
        ),
        ("resident_memory_bytes", "gauge", "Resident memory of the process", _resident_bytes()),
        ("open_fds", "gauge", "Open file descriptors of the process", len(os.listdir("/proc/self/fd"))),
        ("start_time_seconds", "gauge", "Start time of the process, in seconds since 1970", _STARTED_SECONDS),
    )
    for name, kind, explanation, value in facts:
        # The names that every Prometheus client library uses: hence not this broker's prefix.
        yield from text(Family(name=f"process_{name}", kind=kind, help=explanation), [({}, value)])


_STARTED_SECONDS = time.time()


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


# -- requests


_REQUEST_SECONDS = _family(
    "request_duration_seconds", "histogram", "Time from receiving a request to sending its response, by API"
)
_LOOP_LAG = _family("event_loop_lag_seconds", "histogram", "Delay of the event loop's timers")
_FLUSH = _family(
    "log_flush_duration_seconds", "histogram", "Duration of disk syncs, including journal writes"
)


def _requests(services: Services) -> Iterator[str]:
    requests = services.metrics.requests
    counts = sorted(requests.by_api.values(), key=lambda each: each.name)
    yield from head(_REQUEST_SECONDS)
    for each in counts:
        yield from histogram_samples(_REQUEST_SECONDS, each.seconds, {"api": each.name})
    yield from text(
        _family("request_bytes_total", "counter", "Bytes of requests received, by API"),
        (({"api": each.name}, each.request_bytes) for each in counts),
    )
    yield from text(
        _family("response_bytes_total", "counter", "Bytes of responses sent, by API"),
        (({"api": each.name}, each.response_bytes) for each in counts),
    )
    yield from text(
        _family(
            "request_failures_total",
            "counter",
            "Requests whose connection was closed because of an error, by cause",
        ),
        [
            ({"cause": "protocol"}, requests.protocol_errors),
            ({"cause": "unexpected"}, requests.unexpected_errors),
        ],
    )
    yield from _histogram(_LOOP_LAG, services.metrics.loop_lag.seconds)
    yield from _histogram(_FLUSH, services.metrics.flush_seconds)


def _histogram(family: Family, histogram: Histogram) -> Iterator[str]:
    yield from head(family)
    yield from histogram_samples(family, histogram)


# -- authentication


_LOGINS = {
    "success": "good_logins",
    "failure": "failed_logins",
    "reauth_success": "good_reauthentications",
    "reauth_failure": "failed_reauthentications",
    "expired": "sessions_expired",
}
_HANDSHAKES = {"success": "tls_handshakes", "failure": "failed_tls_handshakes"}


def _identity(services: Services) -> Iterator[str]:
    for name, explanation, outcomes in (
        ("logins_total", "SASL logins, by listener and outcome", _LOGINS),
        ("tls_handshakes_total", "TLS handshakes, by listener and outcome", _HANDSHAKES),
    ):
        samples = [
            ({"listener": listener, "outcome": outcome}, getattr(counts, attribute))
            for listener, counts in services.metrics.identity.items()
            for outcome, attribute in outcomes.items()
        ]
        yield from text(_family(name, "counter", explanation), samples)


# -- this node among the others


def _node(services: Services) -> Iterator[str]:
    quorum, image = services.quorum, services.controller.image
    node = quorum.driver.node
    replicas = list(services.replicas)
    leading = [replica for replica in replicas if replica.is_leader]
    gauges = (
        ("connections", "Open client connections", len(services.metrics.connections)),
        ("ready", "1 if this broker is ready to serve requests", services.is_ready),
        ("controller_active", "1 if this node is the active controller", quorum.is_active),
        ("raft_is_leader", "1 if this node is the leader of the metadata quorum", node.is_leader),
        ("raft_epoch", "Epoch of the metadata quorum", node.epoch),
        (
            "raft_leader_id",
            "Node id of the metadata quorum's leader, -1 if unknown",
            _or_none(quorum.leader_id),
        ),
        ("raft_log_end_offset", "End offset of this node's metadata log", quorum.next_offset),
        (
            "raft_high_watermark",
            "High watermark of the metadata log: metadata records below it are committed",
            node.high_watermark,
        ),
        ("raft_voters", "Voters of the metadata quorum", len(node.voters.ids)),
        (
            "metadata_applied_offset",
            "Offset of the last metadata record that this broker has applied",
            image.offset,
        ),
        ("brokers", "Registered brokers", len(image.brokers)),
        ("brokers_fenced", "Fenced brokers", sum(b.fenced for b in image.brokers.values())),
        ("topics", "Topics in the cluster", len(image.topics)),
        ("partitions_held", "Replicas on this broker", len(replicas)),
        ("partitions_led", "Partitions that this broker leads", len(leading)),
        (
            "partitions_under_replicated",
            "Partitions that this broker leads and that have out-of-sync replicas",
            sum(map(_lacks, leading)),
        ),
        (
            "partitions_under_min_isr",
            "Partitions that this broker leads and that have fewer in-sync replicas than min.insync.replicas",
            _under_min_isr(services, leading),
        ),
        ("partitions_offline", "Partitions without a leader, in the whole cluster", _offline(services)),
        ("fetch_sessions", "Incremental fetch sessions on this broker", len(services.fetch_sessions)),
    )
    for name, explanation, value in gauges:
        yield from text(_family(name, "gauge", explanation), [({}, int(value))])


def _disk(services: Services) -> Iterator[str]:
    disk = services.replicas.disk
    labels = {"directory": os.path.abspath(services.replicas.directory)}
    gauges = (
        ("total_bytes", "Size of the file system of the data directory", disk.total_bytes),
        ("free_bytes", "Bytes of the file system that the broker can still use", disk.free_bytes),
        (
            "reserve_bytes",
            "Clients' writes are refused if fewer bytes are free; 0 if there is no reserve",
            disk.reserve_bytes,
        ),
        ("state", "0: healthy, 1: full (clients' writes are refused), 2: failed", int(disk.state)),
    )
    for name, explanation, value in gauges:
        yield from text(_family(f"log_dir_{name}", "gauge", explanation), [(labels, value)])


def _damage(services: Services) -> Iterator[str]:
    """Damage in open and closed logs: damage found before a restart is still known after it."""
    damage = sorted(services.replicas.damage.items())
    samples: list[Sample] = [
        (
            {"topic": name.topic, "partition": str(name.partition)},
            sum(each.next_offset - each.base_offset for each in ranges),
        )
        for name, ranges in damage
    ]
    yield from text(
        _family("partitions_damaged", "gauge", "Replicas on this broker with damaged records"),
        [({}, len(damage))],
    )
    explanation = "Offsets of damaged records, which are not served; only partitions with damage"
    yield from text(_family("partition_damaged_offsets", "gauge", explanation), samples)


def _or_none(node_id: int | None) -> int:
    return -1 if node_id is None else node_id


def _lacks(replica: Replica) -> bool:
    return replica.state is not None and len(replica.state.isr) < len(replica.state.replicas)


def _under_min_isr(services: Services, leading: list[Replica]) -> int:
    return sum(
        replica.state is not None
        and not replica.state.has_min_isr(services.replicas.topic_config(replica.topic).min_insync_replicas)
        for replica in leading
    )


def _offline(services: Services) -> int:
    topics = services.controller.image.topics.values()
    return sum(p.leader == NO_LEADER for topic in topics for p in topic.partitions.values())


# -- partitions


_OF_PARTITIONS: tuple[tuple[str, Kind, str, Callable[[Replica], float]], ...] = (
    ("log_start_offset", "gauge", "First offset of the log", lambda r: r.log.log_start_offset),
    ("log_end_offset", "gauge", "Offset of the next record to be appended", lambda r: r.log.log_end_offset),
    ("high_watermark", "gauge", "High watermark: records below it are committed", lambda r: r.high_watermark),
    ("size_bytes", "gauge", "Size of the log on disk", lambda r: r.log.size_bytes),
    ("is_leader", "gauge", "1 if this broker leads the partition", lambda r: int(r.is_leader)),
    (
        "in_sync_replicas",
        "gauge",
        "In-sync replicas of the partition",
        lambda r: len(r.state.isr) if r.state else 0,
    ),
    ("replicas", "gauge", "Replicas of the partition", lambda r: len(r.state.replicas) if r.state else 0),
    ("bytes_in_total", "counter", "Bytes of records that clients produced", lambda r: r.bytes_in),
    ("bytes_out_total", "counter", "Bytes of records that clients fetched", lambda r: r.bytes_out),
)


def _partitions(services: Services) -> Iterator[tuple[Family, Iterable[Sample]]]:
    opened = [replica for replica in services.replicas if replica.is_open]
    labels: dict[Replica, Labels] = {
        replica: {"topic": replica.topic, "partition": str(replica.partition)} for replica in opened
    }
    for name, kind, explanation, value_of in _OF_PARTITIONS:
        yield (
            _family(
                f"partition_{name}", kind, f"{explanation}; only partitions used since the broker started"
            ),
            zip(map(labels.__getitem__, opened), map(value_of, opened), strict=True),
        )


# -- groups


def _groups(services: Services) -> Iterator[tuple[Family, Iterable[Sample]]]:
    shards = [shard.state for shard in services.groups.shards]
    groups: list[Mapping[str, Any]] = [each for s in shards for each in (s.groups, s.consumers, s.shares)]
    yield (
        _family("group_members", "gauge", "Members of each group that this broker coordinates"),
        [({"group": group_id}, len(group.members)) for each in groups for group_id, group in each.items()],
    )
    offsets = [
        (group_id, topic, partition, committed.value.offset)
        for shard in shards
        for group_id in shard.offsets.groups()
        for topic, partitions in shard.offsets.topics(group_id)
        for partition, committed in partitions.items()
    ]
    yield (
        _family(
            "group_committed_offset", "gauge", "Committed offset of each group that this broker coordinates"
        ),
        ((_of(group_id, topic, partition), offset) for group_id, topic, partition, offset in offsets),
    )
    shares = list(_share_positions(services))
    yield (
        _family(
            "share_group_start_offset",
            "gauge",
            "Start offset of each share group, for partitions whose state this broker coordinates",
        ),
        ((_of(group_id, topic, partition), start) for group_id, topic, partition, start, _ in shares),
    )
    positions = offsets + [
        (group_id, topic, partition, start + done_count)
        for group_id, topic, partition, start, done_count in shares
        if done_count >= 0
    ]
    yield (
        _family(
            "group_lag",
            "gauge",
            "Records that the group has not consumed yet; only partitions with a replica on this broker",
        ),
        (
            (_of(group_id, topic, partition), max(0, replica.high_watermark - offset))
            for group_id, topic, partition, offset in positions
            if (replica := services.replicas.get(topic, partition)) is not None and replica.is_open
        ),
    )


def _shares(services: Services) -> Iterator[tuple[Family, Iterable[Sample]]]:
    """Metrics of share groups on this broker as a partition leader."""
    topics = services.controller.image.topics_by_id
    yield (
        _family(
            "share_sessions", "gauge", "Share sessions: members of share groups that fetch from this broker"
        ),
        [({}, len(services.shares.sessions))],
    )
    yield (
        _family(
            "share_in_flight_records",
            "gauge",
            "Records that members of share groups have acquired and not yet acknowledged",
        ),
        (
            (
                _of(led.key.group_id, topics[led.key.topic_id].name, led.key.partition),
                led.state.in_flight_count,
            )
            for led in list(services.shares.partitions)
            if led.state is not None and led.key.topic_id in topics
        ),
    )


def _share_positions(services: Services) -> Iterator[tuple[str, str, int, int, int]]:
    """Group, topic, partition, start offset, and the number of completed records after it, -1 if unknown."""
    topics = services.controller.image.topics_by_id
    for shard in services.share_state.shards:
        for key, summary in shard.state.summaries():
            topic = topics.get(key.topic_id)
            if topic is not None and summary.start_offset >= 0:
                done_count = summary.delivery_complete_count
                yield key.group_id, topic.name, key.partition, summary.start_offset, done_count


def _of(group_id: str, topic: str, partition: int) -> Labels:
    return {"group": group_id, "topic": topic, "partition": str(partition)}


# -- metrics that clients push (KIP-714)


def _clients(services: Services) -> Iterator[tuple[Family, Iterable[Sample]]]:
    families: dict[str, tuple[Kind, list[Sample]]] = {}
    for client, (name, attributes), kind, value in services.telemetry.series():
        labels = {_label(key): text for key, text in attributes}
        labels |= {"client_id": client.client_id, "client_instance_id": client.instance_id.hex()}
        is_counter = kind == "counter"
        full = f"client_{_NOT_IN_NAMES.sub('_', name)}{'_total' if is_counter else ''}"
        families.setdefault(full, ("counter" if is_counter else "gauge", []))[1].append((labels, value))
    for name, (kind_of, samples) in families.items():
        yield _family(name, kind_of, "Metric pushed by clients (KIP-714)"), samples


def _label(key: str) -> str:
    """An attribute key as a label name: a name that Prometheus does not accept would fail the whole scrape."""
    name = _NOT_IN_NAMES.sub("_", key)
    return name if _LABEL.match(name) else f"attribute_{name}"


_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_]")
_LABEL = re.compile("(?!__)[a-zA-Z_]")  # a prefix of two underscores is reserved for Prometheus
