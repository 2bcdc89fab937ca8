"""Which topics the members of a consumer group read: all that the broker understands of their metadata."""

from collections.abc import Iterable

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import consumer_protocol_subscription

CONSUMER_PROTOCOL = "consumer"
_VERSION_SIZE = 2


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics that these subscriptions name together; None when one of them cannot be read.

    Metadata is `i16 version`, then a ConsumerProtocolSubscription. Its first field is the same in every version, so
    that one from the future is read as version 0.
    """
    topics: set[str] = set()
    try:
        for metadata in subscriptions:
            topics.update(consumer_protocol_subscription.decode(metadata, 0, _VERSION_SIZE).topics)
    except ProtocolError:
        return None
    return frozenset(topics)
