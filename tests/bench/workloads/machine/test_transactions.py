from collections.abc import Iterator

import pytest

from penstock.embedded import Broker
from penstock_bench.raw_client import RawClient
from penstock_bench.workloads.machine.transactions import RawTransactions


@pytest.fixture
def client() -> Iterator[RawClient]:
    with Broker() as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            yield client


def test_each_transaction_leaves_a_record_and_a_marker_in_every_partition(client: RawClient) -> None:
    client.create_topics({"one": 1, "three": 3})
    producers = [RawTransactions(client, "one", [0], b"x"), RawTransactions(client, "three", range(3), b"x")]
    for _ in range(2):
        for producer in producers:
            producer.write()
            producer.commit()
            producer.await_visible()
    assert client.end_offsets("three", range(3)) == [4, 4, 4]
    assert client.end_offset("one") == 4
