"""The rules for topic names, and the names of internal topics."""

import re

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
CLUSTER_METADATA = "__cluster_metadata"
METADATA_TOPIC_ID = bytes(15) + b"\x01"  # KRaft's own
SINK_DECISIONS = "__penstock_sinks"  # of pipelines: spark/sink/decision.py

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE, SINK_DECISIONS})

NAME_LENGTH_MAX = 249  # a directory's name, <topic>-<partition> and perhaps a suffix, has 255 bytes at most

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def invalid_name_reason(name: str) -> str | None:
    """Kafka's error message for an invalid topic name; None for a valid one."""
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > NAME_LENGTH_MAX:
        reason = f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    elif not _LEGAL.fullmatch(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {reason}"


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS


def has_collision_chars(name: str) -> bool:
    return "." in name or "_" in name


def collision_key(name: str) -> str:
    """Names with the same key would be one metric: metrics have `_` for both `.` and `_`."""
    return name.replace(".", "_")
