"""Reconnect: stop and start the broker while this runs. Nothing is lost, nothing is doubled.

It sends a number every 30 ms, 100 in all, and then reads them back.
"""

import time

from examples.basics.common import bootstrap_server, consumer, new_topic, producer, take, text

COUNT = 100


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "numbers")
    # Idempotence lets the client repeat what was not answered: the broker knows what it has already.
    sending = producer(server, enable_idempotence=True, delivery_timeout_ms=120_000)
    for number in range(COUNT):
        sending.produce(topic, str(number).encode())
        sending.poll(0)
        print(f"sent {number}", flush=True)
        time.sleep(0.03)
    if left := sending.flush(120):
        raise SystemExit(f"{left} messages were not acknowledged")
    reading = consumer(server, "counters")
    reading.subscribe([topic])
    found = [int(text(message)) for message in take(reading, COUNT)]
    reading.close()
    print(f"read back {len(found)}: each once and in order: {found == list(range(COUNT))}")


if __name__ == "__main__":
    main()
