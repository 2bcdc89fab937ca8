"""StreamsGroupTopologyKey and StreamsGroupTopologyValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_compact_array_length,
    read_compact_string,
    read_compact_strings,
    read_int16s,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_compact_strings,
    write_int16s,
    write_string,
)

RECORD_TYPE: Final = 23
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class StreamsGroupTopologyKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""


class TopicConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    value: str = ""


class TopicInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[TopicConfig] = []


class CopartitionGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    source_topics: list[int] = []
    source_topic_regex: list[int] = []
    repartition_source_topics: list[int] = []


class Subtopology(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    source_topics: list[str] = []
    source_topic_regex: list[str] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_sink_topics: list[str] = []
    repartition_source_topics: list[TopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []


class StreamsGroupTopologyValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: int = 0
    subtopologies: list[Subtopology] = []


def _read_streams_group_topology_key_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupTopologyKey, int]:
    group_id, pos = read_string(buf, pos)
    return StreamsGroupTopologyKey(group_id=group_id), pos


def _write_streams_group_topology_key_v0(out: bytearray, message: StreamsGroupTopologyKey) -> None:
    write_string(out, message.group_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupTopologyKey, int]], ...]] = (
    _read_streams_group_topology_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupTopologyKey], None], ...]] = (
    _write_streams_group_topology_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupTopologyKey:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTopologyKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupTopologyKey is cut short") from error


def encode_key_into(out: bytearray, message: StreamsGroupTopologyKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTopologyKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupTopologyKey holds a value out of range: {error}") from error


def encode_key(message: StreamsGroupTopologyKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_topic_config_v0(buf: Buffer, pos: int) -> tuple[TopicConfig, int]:
    key, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicConfig(key=key, value=value_), pos


def _write_topic_config_v0(out: bytearray, message: TopicConfig) -> None:
    write_compact_string(out, message.key)
    write_compact_string(out, message.value)
    out.append(0)


def _read_topic_info_v0(buf: Buffer, pos: int) -> tuple[TopicInfo, int]:
    name, pos = read_compact_string(buf, pos)
    partitions, replication_factor = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    topic_configs: list[TopicConfig] = []
    for _ in range(count):
        topic_configs_item, pos = _read_topic_config_v0(buf, pos)
        topic_configs.append(topic_configs_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = TopicInfo(
        name=name,
        partitions=partitions,
        replication_factor=replication_factor,
        topic_configs=topic_configs,
    )
    return value, pos


def _write_topic_info_v0(out: bytearray, message: TopicInfo) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_ih.pack(message.partitions, message.replication_factor)
    topic_configs = message.topic_configs
    write_compact_array_length(out, len(topic_configs))
    for topic_configs_item in topic_configs:
        _write_topic_config_v0(out, topic_configs_item)
    out.append(0)


def _read_copartition_group_v0(buf: Buffer, pos: int) -> tuple[CopartitionGroup, int]:
    count, pos = read_compact_array_length(buf, pos, 2)
    source_topics, pos = read_int16s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 2)
    source_topic_regex, pos = read_int16s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 2)
    repartition_source_topics, pos = read_int16s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = CopartitionGroup(
        source_topics=source_topics,
        source_topic_regex=source_topic_regex,
        repartition_source_topics=repartition_source_topics,
    )
    return value, pos


def _write_copartition_group_v0(out: bytearray, message: CopartitionGroup) -> None:
    source_topics = message.source_topics
    write_compact_array_length(out, len(source_topics))
    write_int16s(out, source_topics)
    source_topic_regex = message.source_topic_regex
    write_compact_array_length(out, len(source_topic_regex))
    write_int16s(out, source_topic_regex)
    repartition_source_topics = message.repartition_source_topics
    write_compact_array_length(out, len(repartition_source_topics))
    write_int16s(out, repartition_source_topics)
    out.append(0)


def _read_subtopology_v0(buf: Buffer, pos: int) -> tuple[Subtopology, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 1)
    source_topics, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 1)
    source_topic_regex, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 9)
    state_changelog_topics: list[TopicInfo] = []
    for _ in range(count):
        state_changelog_topics_item, pos = _read_topic_info_v0(buf, pos)
        state_changelog_topics.append(state_changelog_topics_item)
    count, pos = read_compact_array_length(buf, pos, 1)
    repartition_sink_topics, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 9)
    repartition_source_topics: list[TopicInfo] = []
    for _ in range(count):
        repartition_source_topics_item, pos = _read_topic_info_v0(buf, pos)
        repartition_source_topics.append(repartition_source_topics_item)
    count, pos = read_compact_array_length(buf, pos, 4)
    copartition_groups: list[CopartitionGroup] = []
    for _ in range(count):
        copartition_groups_item, pos = _read_copartition_group_v0(buf, pos)
        copartition_groups.append(copartition_groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = Subtopology(
        subtopology_id=subtopology_id,
        source_topics=source_topics,
        source_topic_regex=source_topic_regex,
        state_changelog_topics=state_changelog_topics,
        repartition_sink_topics=repartition_sink_topics,
        repartition_source_topics=repartition_source_topics,
        copartition_groups=copartition_groups,
    )
    return value, pos


def _write_subtopology_v0(out: bytearray, message: Subtopology) -> None:
    write_compact_string(out, message.subtopology_id)
    source_topics = message.source_topics
    write_compact_array_length(out, len(source_topics))
    write_compact_strings(out, source_topics)
    source_topic_regex = message.source_topic_regex
    write_compact_array_length(out, len(source_topic_regex))
    write_compact_strings(out, source_topic_regex)
    state_changelog_topics = message.state_changelog_topics
    write_compact_array_length(out, len(state_changelog_topics))
    for state_changelog_topics_item in state_changelog_topics:
        _write_topic_info_v0(out, state_changelog_topics_item)
    repartition_sink_topics = message.repartition_sink_topics
    write_compact_array_length(out, len(repartition_sink_topics))
    write_compact_strings(out, repartition_sink_topics)
    repartition_source_topics = message.repartition_source_topics
    write_compact_array_length(out, len(repartition_source_topics))
    for repartition_source_topics_item in repartition_source_topics:
        _write_topic_info_v0(out, repartition_source_topics_item)
    copartition_groups = message.copartition_groups
    write_compact_array_length(out, len(copartition_groups))
    for copartition_groups_item in copartition_groups:
        _write_copartition_group_v0(out, copartition_groups_item)
    out.append(0)


def _read_streams_group_topology_value_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupTopologyValue, int]:
    epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 8)
    subtopologies: list[Subtopology] = []
    for _ in range(count):
        subtopologies_item, pos = _read_subtopology_v0(buf, pos)
        subtopologies.append(subtopologies_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return StreamsGroupTopologyValue(epoch=epoch, subtopologies=subtopologies), pos


def _write_streams_group_topology_value_v0(out: bytearray, message: StreamsGroupTopologyValue) -> None:
    out += _PACKED_i.pack(message.epoch)
    subtopologies = message.subtopologies
    write_compact_array_length(out, len(subtopologies))
    for subtopologies_item in subtopologies:
        _write_subtopology_v0(out, subtopologies_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupTopologyValue, int]], ...]] = (
    _read_streams_group_topology_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupTopologyValue], None], ...]] = (
    _write_streams_group_topology_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupTopologyValue:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTopologyValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupTopologyValue is cut short") from error


def encode_value_into(out: bytearray, message: StreamsGroupTopologyValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTopologyValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupTopologyValue holds a value out of range: {error}") from error


def encode_value(message: StreamsGroupTopologyValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
