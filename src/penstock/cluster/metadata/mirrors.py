"""Mirrors of topics of another cluster, as the metadata has them.

A mirror is a resource with settings, in resource types of our own (in no protocol):

    settings of (MIRROR, mirror)            its source, its topics, its state: see `client.mirrors`
    settings of (MIRRORED_TOPIC, topic)     which mirror writes it, the topic's id at the source, its state
    settings of (MIRRORED_ACLS, mirror)     {id of an ACL that the mirror has created: ""}

A topic is read-only while it has settings of the second kind in any state but `promoted`. From `promoted.epoch` on
producers of this cluster write it. The settings stay until the topic is deleted: producer ids of the source must never
be taken for those of this cluster.
"""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.client import mirrors
from penstock.client.mirrors import STATE

MIRROR: Final = mirrors.RESOURCE_TYPE
MIRRORED_TOPIC: Final = 125
MIRRORED_ACLS: Final = 124

# Settings of a mirrored topic; STATE too
OF_MIRROR: Final = "mirror"
SOURCE_TOPIC_ID: Final = "source.topic.id"
PROMOTED_EPOCH: Final = "promoted.epoch"
OUTCOME: Final = "outcome"

_NO_ID = bytes(16)


class MirrorState(enum.Enum):
    """What the mirror's topics do. The controller checks each change by `controller.alter_mirrors`."""

    CHECKING = "checking"
    """Until the source has been checked once: no topic is created before."""
    RUNNING = "running"
    PAUSED = "paused"
    PROMOTING = "promoting"
    """Copies until every partition is level with its source, and then promotes all."""
    FORCING = "forcing"
    """Copies no more, truncates to the last stable offset, and promotes all."""
    PROMOTED = "promoted"


class TopicState(enum.Enum):
    MIRRORING = "mirroring"
    ADOPTED = "adopted"
    """It existed here before, and loses the records that the source does not have, once."""
    PROMOTED = "promoted"


_COPYING: Final = frozenset({MirrorState.RUNNING, MirrorState.PROMOTING})


class Mirror(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    servers: str
    topics: str
    state: MirrorState
    client: str = ""
    source_cluster: str = ""
    bytes_per_second_max: int = 0
    """0 is no limit. For each broker."""
    replication_factor: int = -1
    may_adopt: bool = False
    """Whether topics that exist here become followers, and lose the records that the source does not have."""

    @property
    def is_copying(self) -> bool:
        return self.state in _COPYING

    @staticmethod
    def of(name: str, settings: Mapping[str, str]) -> "Mirror":
        return Mirror(
            name=name,
            servers=settings[mirrors.SERVERS],
            topics=settings[mirrors.TOPICS],
            state=MirrorState(settings[STATE]),
            client=settings.get(mirrors.CLIENT, ""),
            source_cluster=settings.get(mirrors.SOURCE_CLUSTER, ""),
            bytes_per_second_max=int(settings.get(mirrors.THROTTLE, "0")),
            replication_factor=int(settings.get(mirrors.FACTOR, "-1")),
            may_adopt=settings.get(mirrors.MAY_ADOPT) == "true",
        )


class MirroredTopic(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    mirror: str
    state: TopicState
    source_topic_id: bytes = _NO_ID
    """Zeros for a source that is older than topic ids."""
    promoted_epoch: int = -1
    outcome: str = ""

    @property
    def is_read_only(self) -> bool:
        return self.state is not TopicState.PROMOTED

    @staticmethod
    def of(topic: str, settings: Mapping[str, str]) -> "MirroredTopic":
        return MirroredTopic(
            topic=topic,
            mirror=settings[OF_MIRROR],
            state=TopicState(settings[STATE]),
            source_topic_id=bytes.fromhex(settings.get(SOURCE_TOPIC_ID, "")) or _NO_ID,
            promoted_epoch=int(settings.get(PROMOTED_EPOCH, "-1")),
            outcome=settings.get(OUTCOME, ""),
        )
