"""Replay: reading takes nothing away. A second group starts at the beginning, at an offset, or at a moment."""

import time

from confluent_kafka import TopicPartition

from examples.basics.common import bootstrap_server, consumer, new_topic, producer, take, text

BEGAN_MS = int(time.time() * 1000) - 60_000


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "history")
    sending = producer(server)
    for number in range(10):
        sending.produce(topic, f"event {number}".encode(), timestamp=BEGAN_MS + number * 1000)
    sending.flush(30)
    reading = consumer(server, "auditors")

    reading.assign([TopicPartition(topic, 0, 0)])
    everything = list(take(reading, 10))
    print(f"from the start: {text(everything[0])} … {text(everything[-1])}")

    reading.seek(TopicPartition(topic, 0, 7))
    print(f"from offset 7:  {', '.join(text(message) for message in take(reading, 3))}")

    _, moment_ms = everything[4].timestamp()
    (found,) = reading.offsets_for_times([TopicPartition(topic, 0, moment_ms)], timeout=10)
    reading.seek(TopicPartition(topic, 0, found.offset))
    print(f"from the moment of event 4: offset {found.offset}, {text(next(take(reading, 1)))}")
    reading.close()


if __name__ == "__main__":
    main()
