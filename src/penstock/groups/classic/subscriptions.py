"""Reads the subscribed topics from the metadata of classic consumers, the only part that the broker understands."""

from collections.abc import Iterable

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import consumer_protocol_subscription

CONSUMER_PROTOCOL = "consumer"
_VERSION_SIZE = 2


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics of these subscriptions; None when one of them is malformed.

    Metadata is `i16 version`, then a ConsumerProtocolSubscription. Its first field is the same in every version, so
    newer versions are read as version 0.
    """
    topics: set[str] = set()
    try:
        for metadata in subscriptions:
            topics.update(consumer_protocol_subscription.decode(metadata, 0, _VERSION_SIZE).topics)
    except ProtocolError:
        return None
    return frozenset(topics)
