"""Malicious clients, each with one kind of attack. Each runs as a process of its own, so as not to slow the test down:

python -m tests.malicious.attackers HOST PORT ATTACK SECONDS

It prints "begun" when it is ready. The rate of each attack is limited, because attacker, broker and good client share
the processors of one machine. `stand_in` uses as much CPU time as an attack, without attacking the broker:

python -m tests.malicious.attackers HOST PORT stand_in SECONDS SHARE_OF_A_PROCESSOR
"""

import contextlib
import gzip
import random
import resource
import socket
import struct
import sys
import time
from collections.abc import Callable

from penstock.protocol import apis
from penstock.protocol.compression import Codec
from penstock.protocol.headers import RequestHeader, encode_request_header
from penstock.protocol.messages import (
    fetch,
    metadata,
    produce,
    share_acknowledge,
    share_fetch,
    share_group_heartbeat,
)
from penstock.protocol.records.batch import compute_crc
from penstock.protocol.records.builder import NewRecord, build_batch

TOPIC = "prey"
FRAMES_A_SECOND = 500
HALF_OPEN = 2000
SLOW_READERS = 60
_STAND_IN_TURN_S = 0.01
_SIZE = struct.Struct(">i")


class Attack:
    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.address = (host, port)
        self.seconds = seconds
        self.ends = 0.0
        self.random = random.Random(7)
        self.connections: list[socket.socket] = []

    def begin(self) -> None:
        """Report that all is prepared."""
        print("begun", flush=True)
        self.ends = time.monotonic() + self.seconds

    def is_on(self) -> bool:
        return time.monotonic() < self.ends

    def connect(self) -> socket.socket | None:
        try:
            connection = socket.create_connection(self.address, 2)
        except OSError:  # the broker has closed the connection
            time.sleep(0.01)
            return None
        connection.settimeout(0.2)
        return connection

    def send_once(self, data: bytes) -> None:
        """Connect, send, look whether an answer comes, go."""
        connection = self.connect()
        if connection is None:
            return
        with connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass

    def at_a_pace(self, make: Callable[[], bytes]) -> None:
        self.begin()
        while self.is_on():
            began = time.monotonic()
            self.send_once(make())
            time.sleep(max(0.0, 1 / FRAMES_A_SECOND - (time.monotonic() - began)))


def frame(api_key: int, version: int, request: object) -> bytes:
    out = bytearray(4)
    header = RequestHeader(api_key=api_key, api_version=version, correlation_id=1, client_id="evil")
    encode_request_header(out, header)
    apis.codec(api_key).encode_request_into(out, request, version)
    _SIZE.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def random_bytes(attack: Attack) -> None:
    """Random bytes; half of them with a matching length prefix."""

    def make() -> bytes:
        noise = attack.random.randbytes(attack.random.randrange(1, 400))
        return noise if attack.random.random() < 0.5 else _SIZE.pack(len(noise)) + noise

    attack.at_a_pace(make)


def mutated_frames(attack: Attack) -> None:
    """Valid requests with some bytes changed."""
    batch = build_batch([NewRecord(key=b"k", value=b"v" * 50)])
    data = produce.PartitionProduceData(index=0, records=batch)
    whole = [
        frame(3, 12, metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=TOPIC)])),
        frame(
            0,
            9,
            produce.ProduceRequest(
                acks=1,
                timeout_ms=10,
                topic_data=[produce.TopicProduceData(name=TOPIC, partition_data=[data])],
            ),
        ),
        frame(
            1,
            12,
            fetch.FetchRequest(
                max_wait_ms=0,
                min_bytes=1,
                max_bytes=1000,
                topics=[fetch.FetchTopic(topic=TOPIC, partitions=[fetch.FetchPartition(partition=0)])],
            ),
        ),
        *_of_share_groups(),
    ]

    def make() -> bytes:
        changed = bytearray(attack.random.choice(whole))
        for _ in range(attack.random.randrange(1, 6)):
            changed[attack.random.randrange(4, len(changed))] = attack.random.randrange(256)
        return bytes(changed)

    attack.at_a_pace(make)


def _of_share_groups() -> list[bytes]:
    """A member that joins, begins a session, and acknowledges."""
    group_id, member_id = "thieves", "fence"
    topic_id = bytes(range(16))
    accepted = share_acknowledge.AcknowledgementBatch(first_offset=0, last_offset=9, acknowledge_types=[1])
    return [
        frame(
            76,
            1,
            share_group_heartbeat.ShareGroupHeartbeatRequest(
                group_id=group_id, member_id=member_id, member_epoch=0, subscribed_topic_names=[TOPIC]
            ),
        ),
        frame(
            78,
            2,
            share_fetch.ShareFetchRequest(
                group_id=group_id,
                member_id=member_id,
                max_wait_ms=0,
                min_bytes=1,
                max_bytes=1000,
                max_records=10,
                topics=[
                    share_fetch.FetchTopic(
                        topic_id=topic_id, partitions=[share_fetch.FetchPartition(partition_index=0)]
                    )
                ],
            ),
        ),
        frame(
            79,
            2,
            share_acknowledge.ShareAcknowledgeRequest(
                group_id=group_id,
                member_id=member_id,
                share_session_epoch=1,
                topics=[
                    share_acknowledge.AcknowledgeTopic(
                        topic_id=topic_id,
                        partitions=[
                            share_acknowledge.AcknowledgePartition(
                                partition_index=0, acknowledgement_batches=[accepted]
                            )
                        ],
                    )
                ],
            ),
        ),
    ]


def oversized_lengths(attack: Attack) -> None:
    """Frames, arrays and strings that claim to be enormous."""
    header = struct.pack(">hhih", 3, 1, 1, -1)
    lies = [
        _SIZE.pack(2**31 - 1),
        _SIZE.pack(-1),
        _SIZE.pack(0),
        _SIZE.pack(100 * 1024 * 1024) + b"x",
        _SIZE.pack(len(header) + 4) + header + _SIZE.pack(2**31 - 1),
        _SIZE.pack(len(header) + 10) + header + _SIZE.pack(1) + struct.pack(">h", 32767) + b"abcd",
    ]
    attack.at_a_pace(lambda: attack.random.choice(lies))


def half_frames(attack: Attack) -> None:
    """Most of a large frame, and then silence, on many connections."""
    part = _SIZE.pack(64 * 1024 * 1024) + bytes(4 * 1024 * 1024)
    attack.begin()
    while attack.is_on():
        connection = attack.connect() if len(attack.connections) < 300 else None
        if connection is not None:
            attack.connections.append(connection)
            with contextlib.suppress(OSError):
                connection.sendall(part)
        time.sleep(0.1)


def slow_writers(attack: Attack) -> None:
    """A request a byte at a time, on hundreds of connections."""
    data = frame(3, 12, metadata.MetadataRequest(topics=None))
    attack.begin()
    lines = [connection for _ in range(300) if (connection := attack.connect()) is not None]
    position = 0
    while attack.is_on():
        for connection in lines:
            with contextlib.suppress(OSError):
                connection.send(data[position % len(data) : position % len(data) + 1])
        position += 1
        time.sleep(0.1)


def slow_readers(attack: Attack) -> None:
    """Fetch everything repeatedly, and read no answer."""
    wanted = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=50 * 1024 * 1024)
    request = fetch.FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=50 * 1024 * 1024,
        session_epoch=-1,
        topics=[fetch.FetchTopic(topic=TOPIC, partitions=[wanted])],
    )
    data = frame(1, 12, request) * 20
    attack.begin()
    for _ in range(SLOW_READERS):
        connection = attack.connect()
        if connection is not None:
            attack.connections.append(connection)
            connection.sendall(data)
    time.sleep(max(0.0, attack.ends - time.monotonic()))


def bombs(attack: Attack) -> None:
    """Small batches that grow to gigabytes."""
    bomb = _bomb()
    data = produce.PartitionProduceData(index=0, records=bomb)
    request = produce.ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[produce.TopicProduceData(name=TOPIC, partition_data=[data])]
    )
    ready = frame(0, 9, request)
    attack.begin()
    while attack.is_on():
        attack.send_once(ready)
        time.sleep(0.2)


def _bomb() -> bytes:
    """A batch whose records decompress to a gigabyte of zeros."""
    small = bytearray(build_batch([NewRecord(value=b"x" * 1000)], codec=Codec.GZIP))
    packed = gzip.compress(bytes(64 * 1024 * 1024)) * 16  # members of one stream follow each other
    head = small[:61]
    batch = head + packed
    _SIZE.pack_into(batch, 8, len(batch) - 12)
    struct.pack_into(">I", batch, 17, compute_crc(batch, 0, len(batch)))
    return bytes(batch)


def half_open(attack: Attack) -> None:
    """Thousands of connections that send nothing."""
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (HALF_OPEN + 500, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    attack.begin()
    while attack.is_on():
        if len(attack.connections) < HALF_OPEN:
            connection = attack.connect()
            if connection is not None:
                attack.connections.append(connection)
        else:
            time.sleep(0.05)


ATTACKS = {
    attack.__name__: attack
    for attack in (
        random_bytes,
        mutated_frames,
        oversized_lengths,
        half_frames,
        slow_writers,
        slow_readers,
        bombs,
        half_open,
    )
}


def stand_in(attack: Attack, share: float) -> None:
    """The CPU load of an attack, without the attack."""
    attack.begin()
    while attack.is_on():
        began = time.monotonic()
        while time.monotonic() - began < share * _STAND_IN_TURN_S:
            pass
        time.sleep((1 - share) * _STAND_IN_TURN_S)


def main() -> None:
    host, port, name, seconds, *share = sys.argv[1:]
    attack = Attack(host, int(port), float(seconds))
    if share:
        stand_in(attack, min(1.0, float(share[0])))
    else:
        ATTACKS[name](attack)


if __name__ == "__main__":
    main()
