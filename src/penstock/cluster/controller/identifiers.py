"""Random identifiers: topic ids, cluster ids, incarnations, all UUIDs written as Kafka writes them."""

import base64
import random
import uuid

# Kafka keeps the first hundred ids for itself: ids of directories that are lost or unassigned, the metadata topic's.
_RESERVED_BELOW = 100


def new_uuid(randomness: random.Random) -> bytes:
    """Give a random UUID; one whose text would begin with a dash, and look like an option, is drawn again."""
    while True:
        drawn = uuid.UUID(int=randomness.getrandbits(128), version=4)
        if drawn.int >= _RESERVED_BELOW and not uuid_text(drawn.bytes).startswith("-"):
            return drawn.bytes


def new_topic_id(randomness: random.Random) -> bytes:
    return new_uuid(randomness)


def new_cluster_id(randomness: random.Random) -> str:
    return uuid_text(new_uuid(randomness))


def uuid_text(identifier: bytes) -> str:
    """Give the 22 characters of base64 that Kafka shows a UUID with."""
    return base64.urlsafe_b64encode(identifier).rstrip(b"=").decode()


def uuid_bytes(text: str) -> bytes:
    """Read what `uuid_text` wrote; raises `ValueError` for anything else."""
    identifier = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(identifier) != 16:
        raise ValueError(f"{text!r} is not a UUID of 16 bytes in base64")
    return identifier
