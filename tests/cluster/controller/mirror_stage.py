"""An image with a mirror, and what a test decides about it."""

import random
from collections.abc import Mapping

from penstock.cluster.controller.alter_mirrors import mirror_records
from penstock.cluster.controller.follow_source import (
    SourceFollowed,
    SourceTopic,
    SourceView,
    decide_follow_source,
)
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MirrorState
from penstock.config.broker import BrokerConfig
from tests.cluster.support import commit, image_of

SOURCE = "source-cluster"
SETTINGS: Mapping[str, str] = {"bootstrap.servers": "kafka:9092", "topics": "orders.*"}


def image_with_mirror(brokers: int = 3, settings: Mapping[str, str] = SETTINGS) -> MetadataImage:
    image = image_of(brokers=brokers)
    change(image, **settings)
    return image


def change(image: MetadataImage, name: str = "m", **settings: str | None) -> None:
    """Settings with underscores for the dots, or as they are."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    commit(image, mirror_records(image, name, given))


def state_of(image: MetadataImage) -> MirrorState:
    mirror = image.mirror("m")
    assert mirror is not None
    return mirror.state


def there(name: str = "orders", *epochs: int, topic_id: int = 7, **settings: str) -> SourceTopic:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return SourceTopic(
        name=name, topic_id=bytes([topic_id]) * 16, leader_epochs=epochs or (3,), settings=named
    )


def follow(image: MetadataImage, *topics: SourceTopic, cluster_id: str = SOURCE) -> SourceFollowed:
    """Look at the source once, and apply what is decided."""
    view = SourceView(cluster_id=cluster_id, topics=topics)
    records, followed = decide_follow_source(
        image, BrokerConfig({"default.replication.factor": "3"}), random.Random(1), "m", view
    )
    commit(image, records)
    return followed
