"""The progress of a mirror, as a broker reports it.

Kafka's protocol has no fields for this. A broker reports it in DescribeConfigs of the mirror, under a name that is not
a setting: each for the partitions that it leads, and the active controller for the mirror as a whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from penstock.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from penstock.protocol.messages.list_config_resources import ListConfigResourcesRequest

RESOURCE_TYPE: Final = 126
"""Of mirrors, in DescribeConfigs, IncrementalAlterConfigs and ListConfigResources. In no protocol."""
PROGRESS: Final = "penstock.mirror.progress"
OUTCOME: Final = "penstock.mirror.outcome"

SERVERS: Final = "bootstrap.servers"
TOPICS: Final = "topics"
STATE: Final = "state"
CLIENT: Final = "client.properties"
"""Kafka's client properties, as a file's text. A secret: passwords are in it."""
SOURCE_CLUSTER: Final = "source.cluster.id"
THROTTLE: Final = "throttle.bytes.per.second"
FACTOR: Final = "replication.factor"
MAY_ADOPT: Final = "may.adopt.topics"
"""Whether topics that exist here become followers, and lose the records that the source does not have."""
_SETTINGS: Final = (SERVERS, TOPICS, STATE, SOURCE_CLUSTER, THROTTLE)


class PartitionProgress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    end_offset: int
    source_offset: int
    """The high watermark of the source, -1 while it is not known."""
    is_ready: bool = False
    """Whether it may be promoted."""
    is_same: bool = False
    """Whether it has only records that the source has."""
    truncated_from: int = -1
    trouble: str = ""

    @property
    def lag(self) -> int | None:
        return None if self.source_offset < 0 else max(0, self.source_offset - self.end_offset)


class MirrorProgress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`is_followed`: this broker is the active controller, and has looked at the source."""

    broker: int
    partitions: list[PartitionProgress] = []
    copied_bytes: int = 0
    """By this broker since its start."""
    is_followed: bool = False
    error: str = ""
    """Why the source cannot be followed."""
    troubles: Mapping[str, str] = {}
    """Topics and groups that cannot be copied, and why."""


def encode_progress(progress: MirrorProgress) -> str:
    return msgspec.json.encode(progress).decode()


class ReadyPartition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A partition that its leader of this epoch has stopped to copy, for a promotion."""

    topic: str
    partition: int
    leader_epoch: int
    end_offset: int
    truncated_from: int
    """The end offset before the truncation to the last stable offset; the same as `end_offset` without one."""
    source_offset: int
    """The last known high watermark of the source, -1 if it is not known."""

    @property
    def left_behind(self) -> int:
        """How many offsets of the source are not in this partition, as far as this is known."""
        return max(self.truncated_from, self.source_offset) - self.end_offset


def encode_ready(partitions: Sequence[ReadyPartition]) -> str:
    """The outcome of a promotion of one topic, as it stands in the metadata."""
    return msgspec.json.encode(list(partitions)).decode()


def encode_outcome(topics: Sequence[str]) -> str:
    """The outcome of a promotion: those of all topics."""
    return msgspec.json.encode(
        [each for topic in topics for each in msgspec.json.decode(topic, type=list[ReadyPartition])]
    ).decode()


def outcome_in(described: Any) -> list[ReadyPartition]:
    """The outcome in a DescribeConfigs response about one mirror."""
    for result in getattr(described, "results", ()):
        for each in result.configs:
            if each.name == OUTCOME and each.value:
                return msgspec.json.decode(each.value, type=list[ReadyPartition])
    return []


def progress_in(described: Any) -> MirrorProgress | None:
    """The progress in a DescribeConfigs response about one mirror; None from a broker that reports none."""
    for result in getattr(described, "results", ()):
        for each in result.configs:
            if each.name == PROGRESS and each.value:
                return msgspec.json.decode(each.value, type=MirrorProgress)
    return None


class MirrorReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    state: str
    servers: str
    topics: str
    source_cluster: str | None
    throttle: int
    partitions: list[PartitionProgress]
    is_followed: bool
    """Whether the active controller has looked at the source."""
    error: str
    troubles: Mapping[str, str]
    outcome: list[ReadyPartition]
    copied_bytes: int
    """By all brokers, each since its start."""

    @property
    def lag(self) -> int | None:
        """Of all partitions together; None while that of any is unknown."""
        lags = [each.lag for each in self.partitions]
        return None if None in lags else sum(each or 0 for each in lags)

    @property
    def failures(self) -> list[str]:
        """Each reason once, with what it is about."""
        found = [] if not self.error else [self.error]
        found += [f"{topic}: {reason}" for topic, reason in sorted(self.troubles.items())]
        found += [
            f"{each.topic}-{each.partition}: {each.trouble}"
            for each in self.partitions
            if each.trouble and each.trouble != self.error
        ]
        return [" ".join(each.split()) for each in found]


def list_request() -> ListConfigResourcesRequest:
    return ListConfigResourcesRequest(resource_types=[RESOURCE_TYPE])


def report_request(name: str) -> DescribeConfigsRequest:
    """To be sent to every broker: each reports what it copies."""
    keys = [*_SETTINGS, PROGRESS, OUTCOME]
    resource = DescribeConfigsResource(
        resource_type=RESOURCE_TYPE, resource_name=name, configuration_keys=keys
    )
    return DescribeConfigsRequest(resources=[resource])


def report_of(name: str, answers: Sequence[Any], silent: Sequence[str] = ()) -> MirrorReport:
    """The reports of all brokers together; `silent` says why others have not answered."""
    settings = {
        each.name: each.value
        for answer in answers
        for result in answer.results
        for each in result.configs
        if each.name in _SETTINGS and each.value is not None
    }
    states = [
        each.value
        for answer in answers
        for result in answer.results
        for each in result.configs
        if each.name == STATE
    ]
    # Promoted when the last broker knows it: until then a leader may still refuse to be written.
    state = next((each for each in states if each != "promoted"), "promoted" if states else "unknown")
    found = [each for answer in answers if (each := progress_in(answer)) is not None]
    first = next((each for each in found if each.is_followed), MirrorProgress(broker=-1))
    return MirrorReport(
        name=name,
        state=state,
        servers=settings.get(SERVERS, ""),
        topics=settings.get(TOPICS, ""),
        source_cluster=settings.get(SOURCE_CLUSTER),
        throttle=int(settings.get(THROTTLE, "0")),
        partitions=sorted(
            (part for each in found for part in each.partitions),
            key=lambda each: (each.topic, each.partition),
        ),
        is_followed=first.is_followed,
        error="; ".join(each for each in (first.error, *silent) if each),
        troubles=first.troubles,
        copied_bytes=sum(each.copied_bytes for each in found),
        outcome=next((outcome for each in answers if (outcome := outcome_in(each))), []),
    )
