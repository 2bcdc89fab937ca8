"""A minimal blocking client over one socket."""

import socket
import struct
from collections.abc import Sequence
from typing import Any, Final, Self

from penstock.protocol.apis import codec
from penstock.protocol.headers import decode_response_header
from penstock.protocol.messages import create_topics, fetch, list_offsets, produce
from penstock.protocol.records.batch import LOG_OVERHEAD
from penstock_bench import frames
from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.timing import repeat_for

_SIZE: Final = struct.Struct(">i")
_BATCH_HEAD: Final = struct.Struct(">qi")  # base offset, length of what follows
_LAST_OFFSET_DELTA: Final = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT: Final = 23
_CREATE_TOPICS_VERSION: Final = 7
_LIST_OFFSETS_VERSION: Final = 7
_TIMEOUT_S: Final = 120.0
_LATEST: Final = -1


def connect(address: tuple[str, int], timeout_s: float = _TIMEOUT_S) -> socket.socket:
    connection = socket.create_connection(address, timeout_s)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class RawClient:
    """Sends one request at a time, also frames built beforehand."""

    def __init__(self, address: tuple[str, int], receive_bytes_max: int = 1 << 16) -> None:
        self._socket = connect(address)
        self._buffer = bytearray(receive_bytes_max)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def exchange(self, request_frame: bytes) -> memoryview:
        """Send a frame, and return the body of its response, which is valid until the next call."""
        self._socket.sendall(request_frame)
        self._receive(4)
        size = _SIZE.unpack_from(self._buffer)[0]
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        self._receive(size)
        return memoryview(self._buffer)[:size]

    def _receive(self, size: int) -> None:
        view = memoryview(self._buffer)
        got = 0
        while got < size:
            count = self._socket.recv_into(view[got:size], size - got, socket.MSG_WAITALL)
            if not count:
                raise UnexpectedAnswer("the broker closed the connection")
            got += count

    def request(self, api_key: int, version: int, message: Any) -> Any:
        return self._decode(api_key, version, self.exchange(frames.frame(api_key, version, message)))

    def _decode(self, api_key: int, version: int, body: memoryview) -> Any:
        _, position = decode_response_header(body, api_key, version)
        return codec(api_key).decode_response(body, version, position)

    def create_topics(self, partition_counts: dict[str, int]) -> None:
        topics = [
            create_topics.CreatableTopic(name=name, num_partitions=count, replication_factor=1)
            for name, count in partition_counts.items()
        ]
        request = create_topics.CreateTopicsRequest(topics=topics, timeout_ms=int(_TIMEOUT_S * 1000))
        for topic in self.request(create_topics.API_KEY, _CREATE_TOPICS_VERSION, request).topics:
            if topic.error_code:
                raise UnexpectedAnswer(f"creating {topic.name}: {topic.error_code} {topic.error_message}")

    def produce(self, request_frame: bytes) -> int:
        """Send one produce frame and return the base offset of its first partition."""
        response = self._decode(produce.API_KEY, frames.PRODUCE_VERSION, self.exchange(request_frame))
        for topic in response.responses:
            for partition in topic.partition_responses:
                if partition.error_code:
                    raise UnexpectedAnswer(
                        f"producing to {topic.name}-{partition.index}: {partition.error_code} {partition.error_message}"
                    )
        return int(response.responses[0].partition_responses[0].base_offset)

    def end_offsets(self, topic: str, partitions: Sequence[int], *, is_committed: bool = False) -> list[int]:
        """Return the end offsets, or the offsets up to which a consumer with `read_committed` can read."""
        asked = [
            list_offsets.ListOffsetsPartition(partition_index=each, timestamp=_LATEST) for each in partitions
        ]
        request = list_offsets.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(is_committed),
            topics=[list_offsets.ListOffsetsTopic(name=topic, partitions=asked)],
        )
        found = self.request(list_offsets.API_KEY, _LIST_OFFSETS_VERSION, request).topics[0].partitions
        for each in found:
            if each.error_code:
                raise UnexpectedAnswer(
                    f"the end offset of {topic}-{each.partition_index}: error {each.error_code}"
                )
        return [int(each.offset) for each in found]

    def end_offset(self, topic: str, partition: int = 0) -> int:
        return self.end_offsets(topic, [partition])[0]

    def read_to(self, topic: str, end_offset: int, *, bytes_max: int) -> int:
        """Fetch partition 0 from its start to `end_offset` and return how many bytes of records that was."""
        offset = total = 0
        while offset < end_offset:
            body = self.exchange(frames.fetch_frame(topic, 0, offset, bytes_max=bytes_max))
            data = self._decode(fetch.API_KEY, frames.FETCH_VERSION, body).responses[0].partitions[0]
            if data.error_code or not data.records:
                raise UnexpectedAnswer(f"fetching {topic}-0 at {offset}: error {data.error_code}, no records")
            total += len(data.records)
            offset = next_offset(data.records, offset)
        return total

    def produce_for(self, request_frame: bytes, duration_s: float) -> list[float]:
        """Produce one record at a time; return how long each took in seconds."""
        first_offset = self.produce(request_frame)
        latencies = repeat_for(duration_s, lambda: self.exchange(request_frame))
        # No other producer writes to the partition: after a failure this offset would lag behind the count.
        appended = self.produce(request_frame) - first_offset - 1
        if appended != len(latencies):
            raise UnexpectedAnswer(
                f"{len(latencies)} produce requests of one record appended {appended} records"
            )
        return latencies


def next_offset(records: bytes | bytearray | memoryview, start: int) -> int:
    """Return the offset after the last complete batch in `records`."""
    position = 0
    offset = start
    end = len(records)
    while end - position >= LOG_OVERHEAD:
        base, length = _BATCH_HEAD.unpack_from(records, position)
        size = LOG_OVERHEAD + length
        if position + size > end:
            break
        offset = base + _LAST_OFFSET_DELTA.unpack_from(records, position + _LAST_OFFSET_DELTA_AT)[0] + 1
        position += size
    if offset <= start and position == 0:
        raise UnexpectedAnswer(f"a fetch at {start} returned no complete batch")
    return offset
