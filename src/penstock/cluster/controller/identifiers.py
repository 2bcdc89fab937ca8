"""Random identifiers: topic ids, cluster ids, incarnations, all UUIDs written as Kafka writes them."""

import random
import uuid

from penstock.storage.directory.metadata_files import encode_uuid

# Kafka keeps the first hundred ids for itself: ids of directories that are lost or unassigned, the metadata topic's.
_RESERVED_BELOW = 100


def new_uuid(randomness: random.Random) -> bytes:
    """Return a random UUID. A UUID whose text would begin with a dash, and look like an option, is not used."""
    while True:
        drawn = uuid.UUID(int=randomness.getrandbits(128), version=4)
        if drawn.int >= _RESERVED_BELOW and not encode_uuid(drawn.bytes).startswith("-"):
            return drawn.bytes


def new_topic_id(randomness: random.Random) -> bytes:
    return new_uuid(randomness)


def new_cluster_id(randomness: random.Random) -> str:
    return encode_uuid(new_uuid(randomness))
