"""Compaction: a topic as a table. The last value of each key stays; a key without a value (a tombstone) goes.

The broker compacts when it has nothing better to do: `penstock up --set log.cleaner.backoff.ms=500` for this
demonstration.
"""

import time

from confluent_kafka import TopicPartition

from examples.basics.common import bootstrap_server, consumer, new_topic, producer, take, text


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(
        server,
        "settings",
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
        min_compaction_lag_ms="0",
        delete_retention_ms="0",
    )
    sending = producer(server)
    for number in range(50):
        for key in ("color", "size"):
            sending.produce(topic, str(number).encode(), key=key)
    sending.produce(topic, None, key="size")
    sending.flush(30)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        time.sleep(0.3)
        sending.produce(topic, b"now", key="clock")  # a segment in use is never compacted: begin another
        sending.flush(30)
        found = read_all(server, topic)
        if len(found) < 20:
            break
    else:
        raise SystemExit("nothing was compacted: is log.cleaner.backoff.ms as above?")
    print(f"of more than 100 messages {len(found)} are left; the last color is {dict(found)['color']}")


def read_all(server: str, topic: str) -> list[tuple[str, str]]:
    """Keys and values, oldest first."""
    reading = consumer(server, "readers", enable_partition_eof=False)
    partition = TopicPartition(topic, 0)
    first, end = reading.get_watermark_offsets(partition, timeout=10)
    reading.assign([TopicPartition(topic, 0, first)])
    found = []
    while True:
        (message,) = take(reading, 1)
        found.append(((message.key() or b"").decode(), text(message)))
        if (message.offset() or 0) >= end - 1:
            reading.close()
            return found


if __name__ == "__main__":
    main()
