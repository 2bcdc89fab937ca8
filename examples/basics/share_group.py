"""A share group: three workers take jobs of one partition; a job that fails comes again, a hopeless one goes away."""

from confluent_kafka import AcknowledgeType, Message, ShareConsumer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from examples.basics.common import admin, bootstrap_server, new_topic, send, text

JOBS = [f"job {number}" for number in range(9)]


def worker(server: str, group: str, topic: str) -> ShareConsumer:
    """One that says of each record what became of it, and takes few at a time."""
    taking = ShareConsumer(
        {
            "bootstrap.servers": server,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": 3,
            "log_level": 3,
        }
    )
    taking.subscribe([topic])
    return taking


def start_at_the_first(server: str, group: str) -> None:
    """A share group begins at the end, unless its settings say otherwise."""
    client = admin(server)
    name, operation = "share.auto.offset.reset", AlterConfigOpType.SET
    entry = ConfigEntry(name, "earliest", incremental_operation=operation)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    client.incremental_alter_configs([resource])[resource].result(30)


def take(taking: ShareConsumer) -> list[Message]:
    for _ in range(300):
        records = list(taking.poll(0.1))
        if records:
            return records
    raise SystemExit("no job came for 30 s")


def verdict(job: Message) -> AcknowledgeType:
    """Job 4 fails the first time, and job 7 can never be done."""
    if text(job) == "job 4" and job.delivery_count() == 1:
        return AcknowledgeType.RELEASE
    return AcknowledgeType.REJECT if text(job) == "job 7" else AcknowledgeType.ACCEPT


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "jobs", partitions=1)
    start_at_the_first(server, topic)
    for first in range(0, len(JOBS), 3):
        send(server, topic, JOBS[first : first + 3])  # workers are given whole batches
    workers = [worker(server, topic, topic) for _ in range(3)]

    taken = [take(each) for each in workers]
    for number, jobs in enumerate(taken, 1):
        print(f"worker {number} has {', '.join(map(text, jobs))}")
    for taking, jobs in zip(workers, taken, strict=True):
        for job in jobs:
            taking.acknowledge(job, verdict(job))
        taking.commit_sync(30)

    (again,) = take(workers[0])
    print(f"{text(again)} failed and is delivered again: {again.delivery_count()} times so far")
    workers[0].acknowledge(again, verdict(again))
    workers[0].commit_sync(30)
    print("done, but for job 7, which was rejected")
    for each in workers:
        each.close()


if __name__ == "__main__":
    main()
