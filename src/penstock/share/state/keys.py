"""The key by which clients find the coordinator of a share partition: `group:topic id:partition`, as in Kafka."""

import base64
import binascii
import re

from penstock.share.state.values import SharePartitionKey

_UUID_TEXT_MAX = 24
_UUID_BYTES = 16
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_INT32 = range(-(2**31), 2**31)


class InvalidShareKey(ValueError):
    """The text is not the key of a share partition; the message is Kafka's."""


def coordinator_key(key: SharePartitionKey) -> str:
    topic_id = base64.urlsafe_b64encode(key.topic_id).rstrip(b"=").decode()
    return f"{key.group_id}:{topic_id}:{key.partition}"


def parse_coordinator_key(text: str) -> SharePartitionKey:
    """Raises `InvalidShareKey`. A group id may contain colons."""
    if not text:
        raise InvalidShareKey("Share partition key cannot be empty")
    parts = text.rstrip(":").split(":")  # Java's split drops empty parts at the end
    if len(parts) < 3:
        raise InvalidShareKey(f"Invalid key format: expected - groupId:topicId:partition, found - {text}")
    group_id = ":".join(parts[:-2])
    if not group_id.strip():
        raise InvalidShareKey("GroupId must not be empty")
    topic_id = _topic_id(parts[-2])
    if not _INTEGER.fullmatch(parts[-1]) or int(parts[-1]) not in _INT32:
        raise InvalidShareKey(f"Invalid partition: {parts[-1]}")
    return SharePartitionKey(group_id, topic_id, int(parts[-1]))


def _topic_id(text: str) -> bytes:
    try:
        if len(text) > _UUID_TEXT_MAX:
            raise InvalidShareKey(f"Invalid topic ID: {text}")
        topic_id = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidShareKey(f"Invalid topic ID: {text}") from error
    if len(topic_id) != _UUID_BYTES:
        raise InvalidShareKey(f"Invalid topic ID: {text}")
    return topic_id
