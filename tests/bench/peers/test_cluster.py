import contextlib
import itertools
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from penstock_bench.peers.cluster import Cluster, Product, Site, StreamState
from penstock_bench.peers.tasks import Dialect, Where
from penstock_bench.process import ServerFailed, ServerProcess

NODES = (1, 2, 3)

LISTEN = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    server.accept()
"""


class Listening(Product):
    """Nodes that only listen; the state of streams is given."""

    def __init__(self, dialect: Dialect, *, starts_together: bool = True) -> None:
        super().__init__("Listening", len(NODES))
        self.dialect: Dialect = dialect
        self.starts_together = starts_together
        self.states: dict[str, StreamState] = {}
        self.fails_at = 0
        self.started: list[ServerProcess] = []

    def start_node(self, site: Site, number: int) -> ServerProcess:
        if number == self.fails_at:
            raise ServerFailed("no room")
        port = site.ports[number]
        node = ServerProcess([sys.executable, "-c", LISTEN, str(port)], site.new_log_path(number), port=port)
        self.started.append(node)
        return node

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        return [self.states.get(place.stream, StreamState(0, 0)) for place in places]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    numbers = itertools.count()
    return Site(str(tmp_path), lambda name: str(tmp_path / f"{next(numbers)}-{name}"), len(NODES))


@contextlib.contextmanager
def running(product: Listening, site: Site) -> Iterator[Cluster]:
    cluster = Cluster(product, site)
    with contextlib.closing(cluster):
        yield cluster


def listens(site: Site, number: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", site.ports[number])) == 0


@pytest.mark.parametrize("starts_together", [True, False])
def test_a_node_that_was_killed_is_started_again_on_its_port(site: Site, starts_together: bool) -> None:
    with running(Listening("nats", starts_together=starts_together), site) as cluster:
        assert all(listens(site, number) for number in NODES)
        cluster.kill(2)
        assert [listens(site, number) for number in NODES] == [True, False, True]
        cluster.start(2)
        assert listens(site, 2)
    assert not any(listens(site, number) for number in NODES)


def test_all_nodes_are_ended_when_one_does_not_start(site: Site) -> None:
    product = Listening("nats")
    product.fails_at = 2
    with pytest.raises(ServerFailed, match="no room"):
        Cluster(product, site)
    assert len(product.started) == 2
    assert not any(os.path.exists(f"/proc/{node.pid}") for node in product.started)


def test_places_are_partitions_of_one_topic_or_streams_where_there_are_no_partitions(site: Site) -> None:
    with running(Listening("kafka"), site) as cluster:
        places = cluster.places("many", {"flush.messages": "1"}, 3)
    assert [(place.stream, place.published_partitions) for place in places] == [
        ("many", (0,)),
        ("many", (1,)),
        ("many", (2,)),
    ]
    assert {(place.partitions, place.replicas) for place in places} == {(3, 3)}
    with running(Listening("amqp"), site) as cluster:
        assert [place.stream for place in cluster.places("many", {}, 2)] == ["many-0", "many-1"]


def test_places_are_addressed_at_their_leaders_once_all_replicas_are_in_sync(site: Site) -> None:
    product = Listening("nats")
    with running(product, site) as cluster:
        places = cluster.places("many", {}, 2)
        product.states = {"many-0": StreamState(3, 3), "many-1": StreamState(1, 2)}
        assert cluster.led(places) == []
        product.states["many-1"] = StreamState(1, 3)
        found = cluster.await_led(places)
    assert [cluster.leader_of(place) for place in found] == [3, 1]
    assert found[0].addresses == (site.address(3), site.address(1), site.address(2))


def test_a_node_alone_has_one_place_with_all_partitions(tmp_path: Path) -> None:
    alone = Site(str(tmp_path), lambda name: str(tmp_path / name), 1)
    with running(Listening("kafka"), alone) as cluster:
        places = cluster.places("many", {}, partitions=3)
        assert cluster.await_led(places) == places
        assert [place.published_partitions for place in places] == [(0, 1, 2)]
        assert cluster.stop() > 0
    assert not listens(alone, 1)
