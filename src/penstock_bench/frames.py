"""Requests built once and sent many times, and the layout of their responses. Pure.

A load generator that encodes each request would measure itself. These frames carry no producer id, so the broker
accepts the same bytes repeatedly. Their responses differ only in the base offset, so that their length and the position
of the error code are known beforehand.
"""

import struct
import time
from collections.abc import Sequence
from typing import Any, Final

from penstock.protocol.apis import codec
from penstock.protocol.headers import RequestHeader, encode_request_header
from penstock.protocol.messages import fetch, produce
from penstock.protocol.records.builder import NewRecord, build_batch

PRODUCE_VERSION: Final = 12  # the last that names topics; 13 wants ids
FETCH_VERSION: Final = 12
_SIZE: Final = struct.Struct(">i")
_STRIDE: Final = 7919  # a prime, so that sizes and keys follow no short pattern
_CLIENT_ID: Final = "bench"


class UnexpectedAnswer(OSError):
    """The server returned an error or an unexpected response, or closed the connection."""


def frame(api_key: int, version: int, request: Any, correlation_id: int = 0) -> bytes:
    """Encode the request with its header and its length in front."""
    out = bytearray(4)
    header = RequestHeader(
        api_key=api_key, api_version=version, correlation_id=correlation_id, client_id=_CLIENT_ID
    )
    encode_request_header(out, header)
    codec(api_key).encode_request_into(out, request, version)
    _SIZE.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def batch(message_bytes: int, count: int) -> bytes:
    """`count` records of `message_bytes` each, with the current timestamp: retention would delete old ones."""
    value = (b"penstock-" * (message_bytes // 9 + 1))[:message_bytes]
    now_ms = time.time_ns() // 1_000_000
    return build_batch([NewRecord(value=value, timestamp=now_ms) for _ in range(count)])


def varied_batch(message_bytes: int, count: int) -> bytes:
    """`count` records with keys, of sizes around `message_bytes`, a millisecond apart.

    Identical records are faster to validate than those of real traffic: this is the other extreme.
    """
    first_ms = time.time_ns() // 1_000_000 - count
    records = []
    for number in range(count):
        size = message_bytes // 2 + number * _STRIDE % message_bytes
        key = b"key-%d" % (number * _STRIDE % 1000)
        records.append(NewRecord(key=key, value=b"v" * size, timestamp=first_ms + number))
    return build_batch(records)


def produce_frame(topic: str, partitions: Sequence[int], records: bytes) -> bytes:
    data = [produce.PartitionProduceData(index=each, records=records) for each in partitions]
    topics = [produce.TopicProduceData(name=topic, partition_data=data)]
    request = produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics)
    return frame(produce.API_KEY, PRODUCE_VERSION, request)


def fetch_frame(topic: str, partition: int, offset: int, *, bytes_max: int) -> bytes:
    asked = fetch.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=bytes_max)
    topics = [fetch.FetchTopic(topic=topic, partitions=[asked])]
    request = fetch.FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=max(bytes_max, 1), topics=topics)
    return frame(fetch.API_KEY, FETCH_VERSION, request)


class AnswerCounter:
    """Counts the responses to one kind of produce frame on a connection without decoding them: all successful ones have
    one length.
    """

    __slots__ = ("_expected", "_received_bytes", "size_bytes")

    def __init__(self, topic: str) -> None:
        self.size_bytes = size = len(_good_answer(topic))
        # Length, correlation id, header tags, topic count, name, partition count, partition index, error code.
        error_at = 4 + 4 + 1 + 1 + (1 + len(topic)) + 1 + 4
        self._expected = ((2, (size - 4) >> 8), (3, (size - 4) & 0xFF), (error_at, 0), (error_at + 1, 0))
        self._received_bytes = 0

    def count(self, received: memoryview) -> int:
        """Return how many responses these bytes complete. Raises `UnexpectedAnswer` unless each is a success."""
        size = self.size_bytes
        skip = self._received_bytes % size
        for at, expected in self._expected:
            column = bytes(received[(at - skip) % size :: size])
            if column.count(expected) != len(column):
                raise UnexpectedAnswer("the broker refused a produce request under load")
        self._received_bytes += len(received)
        return (skip + len(received)) // size


def _good_answer(topic: str) -> bytes:
    partition = produce.PartitionProduceResponse(base_offset=0)
    response = produce.ProduceResponse(
        responses=[produce.TopicProduceResponse(name=topic, partition_responses=[partition])]
    )
    # Response header version 1: a correlation id and no tags.
    body = bytes(5) + produce.encode_response(response, PRODUCE_VERSION)
    return _SIZE.pack(len(body)) + body
