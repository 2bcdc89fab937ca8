"""Transactions: take from one topic, give to another, remember how far: all of it, or none."""

from examples.basics.common import bootstrap_server, consumer, new_topic, producer, send, take, text


def main() -> None:
    server = bootstrap_server()
    payments, receipts = new_topic(server, "payments"), new_topic(server, "receipts")
    send(server, payments, ["10", "20", "broken", "30"])
    reading = consumer(server, payments)
    reading.subscribe([payments])
    sending = producer(server, transactional_id=f"cashier-{payments}")
    sending.init_transactions(30)
    for message in take(reading, 4):
        sending.begin_transaction()
        sending.produce(receipts, f"paid {text(message)}".encode())
        if text(message) == "broken":
            sending.abort_transaction(30)  # as if this program had crashed here
            print("aborted: nobody who reads committed messages sees that receipt")
            continue
        positions = reading.position(reading.assignment())
        sending.send_offsets_to_transaction(positions, reading.consumer_group_metadata(), 30)
        sending.commit_transaction(30)
    reading.close()
    audience = consumer(server, receipts, isolation_level="read_committed")
    audience.subscribe([receipts])
    print(f"receipts: {', '.join(text(message) for message in take(audience, 3))}")
    audience.close()


if __name__ == "__main__":
    main()
