"""Consumer groups: members share the partitions, and take over when one leaves; another group gets everything."""

import threading

from confluent_kafka import Consumer

from examples.basics.common import bootstrap_server, consumer, new_topic, send


class Member(threading.Thread):
    """Reads until it is told to leave."""

    def __init__(self, name: str, reading: Consumer, topic: str) -> None:
        super().__init__(name=name)
        self.read = 0
        self.partitions: set[int] = set()
        self.leave = threading.Event()
        self._reading = reading
        self._topic = topic

    def run(self) -> None:
        self._reading.subscribe([self._topic])
        while not self.leave.is_set():
            message = self._reading.poll(0.1)
            self.partitions = {each.partition for each in self._reading.assignment()}
            if message is not None and not message.error():
                self.read += 1
                self._reading.commit(message)
        self._reading.close()


def until(condition: object) -> None:
    waiting = threading.Event()
    for _ in range(600):
        if callable(condition) and condition():
            return
        waiting.wait(0.1)
    raise SystemExit("the group did not get there within a minute")


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "jobs", partitions=4)
    first = Member("first", consumer(server, topic, group_protocol="consumer"), topic)
    second = Member("second", consumer(server, topic, group_protocol="consumer"), topic)
    first.start()
    until(lambda: len(first.partitions) == 4)
    print(f"alone, the first member has partitions {sorted(first.partitions)}")
    second.start()
    until(lambda: len(first.partitions) == len(second.partitions) == 2)
    print(f"together they have {sorted(first.partitions)} and {sorted(second.partitions)}")
    send(server, topic, [f"{number}=job" for number in range(100)])
    until(lambda: first.read + second.read == 100)
    print(f"they did {first.read + second.read} jobs between them")
    second.leave.set()
    second.join()
    until(lambda: len(first.partitions) == 4)
    print(f"the second has left: the first has {sorted(first.partitions)} again")
    first.leave.set()
    first.join()


if __name__ == "__main__":
    main()
