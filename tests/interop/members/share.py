"""A member of a share group (KIP-932), of confluent-kafka: it acquires records and accepts them, and reports both."""

from confluent_kafka import KafkaException, ShareConsumer

from tests.interop.members import reporting


def main() -> None:
    wanted = reporting.arguments()
    stop = reporting.stop_requested()
    consumer = ShareConsumer(
        {
            "bootstrap.servers": wanted.bootstrap,
            "group.id": wanted.group,
            "share.acknowledgement.mode": "explicit",
            "reconnect.backoff.max.ms": 500,
        }
    )
    consumer.subscribe([wanted.topic])
    while not stop.is_set():
        records = [r for r in consumer.poll(reporting.POLL_S) if r.error() is None]
        if not records:
            continue
        held = [(r.partition(), r.offset(), r.value()) for r in records]
        reporting.processed(held, event="held")
        if wanted.is_holding:
            stop.wait()
            continue
        for record in records:
            consumer.acknowledge(record)
        try:
            outcomes = consumer.commit_sync(5)
        except KafkaException as error:
            reporting.emit("refused", error=str(error))
            continue
        failed = {(p.topic, p.partition): why for p, why in outcomes.items() if why is not None}
        for reason in failed.values():
            reporting.emit("refused", error=str(reason))
        done = [r for r in records if (r.topic(), r.partition()) not in failed]
        reporting.processed((r.partition(), r.offset(), r.value()) for r in done)
    consumer.close()


if __name__ == "__main__":
    main()
