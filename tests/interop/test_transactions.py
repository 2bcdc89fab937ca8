"""Transactions of unmodified clients: a consumer sees all of a transaction or nothing, with any pair of clients."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.interop.conftest import Clients
from tests.interop.transactional import (
    Fenced,
    TransactionalProducer,
    committed_offset,
    open_producer,
    read,
)

NAMES = ["confluent-kafka", "aiokafka", "kafka-python", "kafkajs"]
_numbers = itertools.count()

OpenProducer = Callable[..., TransactionalProducer]


@pytest.fixture
def opened(clients: Clients) -> Iterator[OpenProducer]:
    """Open producers that are closed after the test."""
    made: list[TransactionalProducer] = []

    def open_one(name: str, transactional_id: str | None = None) -> TransactionalProducer:
        made.append(open_producer(name, clients.bootstrap, transactional_id or f"{name}-{next(_numbers)}"))
        return made[-1]

    yield open_one
    for producer in made:
        producer.close()


def write(producer: TransactionalProducer, topic: str, *values: bytes) -> None:
    """One value for each partition, in a new transaction."""
    producer.begin()
    for partition, value in enumerate(values):
        producer.send(topic, value, partition)


@pytest.mark.parametrize("name", NAMES)
def test_a_read_committed_consumer_gets_only_whole_transactions(
    name: str, clients: Clients, opened: OpenProducer, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    producer = opened(name)
    for number, commit in enumerate([True, False, True, False, True]):
        write(producer, topic, b"%d-0" % number, b"%d-1" % number)
        if commit:
            producer.commit()
        else:
            producer.abort()
    committed = [b"%d-%d" % (n, p) for n in (0, 2, 4) for p in (0, 1)]
    everything = [b"%d-%d" % (n, p) for n in range(5) for p in (0, 1)]
    for reader in {"confluent-kafka", "aiokafka", "kafka-python", name}:
        assert read(reader, clients.bootstrap, topic, 6, committed=True) == committed, reader
        assert read(reader, clients.bootstrap, topic, 10, committed=False) == everything, reader


@pytest.mark.parametrize("name", NAMES)
def test_a_second_producer_with_the_same_id_fences_the_first(
    name: str, clients: Clients, opened: OpenProducer, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    zombie = opened(name, f"fenced-{name}")
    write(zombie, topic, b"of the zombie")
    heir = opened(name, f"fenced-{name}")
    write(heir, topic, b"of the heir")
    heir.commit()
    with pytest.raises(Fenced):
        zombie.commit()
    assert read("confluent-kafka", clients.bootstrap, topic, 1, committed=True) == [b"of the heir"]


@pytest.mark.parametrize("name", NAMES)
def test_offsets_are_committed_and_aborted_with_the_transaction(
    name: str, clients: Clients, opened: OpenProducer, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    group_id = f"group-of-{name}"
    producer = opened(name)
    for offset, commit in [(3, True), (8, False)]:
        write(producer, topic, b"%d" % offset)
        producer.send_offsets(group_id, topic, 0, offset)
        if commit:
            producer.commit()
        else:
            producer.abort()
    write(producer, topic, b"after")  # whose first record follows the records of the two before
    producer.commit()
    assert committed_offset(clients.bootstrap, group_id, topic, 0) == 3


def test_producers_of_all_libraries_share_a_partition(
    clients: Clients, opened: OpenProducer, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    producers = {name: opened(name) for name in NAMES}
    for name, producer in producers.items():
        write(producer, topic, name.encode())
    for number, producer in enumerate(producers.values()):
        if number % 2:
            producer.abort()
        else:
            producer.commit()
    for name, producer in producers.items():
        write(producer, topic, b"again " + name.encode())
        producer.commit()
    expected = sorted([b"confluent-kafka", b"kafka-python", *(b"again " + n.encode() for n in NAMES)])
    for reader in NAMES:
        assert read(reader, clients.bootstrap, topic, 6, committed=True) == expected, reader
