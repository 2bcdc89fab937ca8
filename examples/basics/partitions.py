"""Partitions: messages with the same key stay together and in order; keys are spread over the partitions."""

from collections import defaultdict

from examples.basics.common import bootstrap_server, consumer, new_topic, send, take, text


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "orders", partitions=3)
    customers = ("anna", "ben", "clara", "emil")
    send(server, topic, [f"{customer}=order {number}" for number in range(3) for customer in customers])
    reading = consumer(server, "shippers")
    reading.subscribe([topic])
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for message in take(reading, 12):
        found[(message.key() or b"").decode()].append((message.partition() or 0, text(message)))
    reading.close()
    for customer, orders in sorted(found.items()):
        (partition,) = {number for number, _ in orders}
        print(f"{customer}: partition {partition}: {', '.join(order for _, order in orders)}")


if __name__ == "__main__":
    main()
