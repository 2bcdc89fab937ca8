"""Segments and retention: a log is a row of files; the oldest are deleted when the topic is larger than it may be.

How soon is the broker's choice: `penstock up --set log.retention.check.interval.ms=1000` for this demonstration.
"""

import time

from confluent_kafka import TopicPartition

from examples.basics.common import bootstrap_server, consumer, new_topic, send


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "short", segment_bytes="16384", retention_bytes="65536")
    for _ in range(200):
        send(server, topic, ["x" * 1000])
    reading = consumer(server, "watchers")
    print(
        "written; the broker looks for old segments every log.retention.check.interval.ms, by default 5 minutes"
    )
    deadline = time.monotonic() + 330
    while time.monotonic() < deadline:
        first, end = reading.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        if first > 0:
            print(
                f"of 200 messages the oldest {first} are gone; {end - first} are left, their offsets unchanged"
            )
            break
        time.sleep(0.2)
    else:
        raise SystemExit("nothing was deleted: is log.retention.check.interval.ms as above?")
    reading.close()


if __name__ == "__main__":
    main()
