from pathlib import Path

from penstock_bench.peers.cluster import Site
from penstock_bench.peers.products.kafka import Kafka


def settings_of(number: int, site: Site) -> dict[str, str]:
    product = Kafka("Kafka", len(site.numbers), {"log.flush.interval.messages": "1"})
    return product.node_settings(site, number)


def test_a_lone_node_needs_no_other_to_acknowledge(tmp_path: Path) -> None:
    site = Site(str(tmp_path), str, 1)
    settings = settings_of(1, site)
    assert settings["controller.quorum.bootstrap.servers"] == f"127.0.0.1:{site.peer_ports[1]}"
    assert settings["transaction.state.log.replication.factor"] == "1"
    assert settings["transaction.state.log.min.isr"] == "1"


def test_nodes_of_a_cluster_know_all_voters_and_replicate_their_internal_topics(tmp_path: Path) -> None:
    site = Site(str(tmp_path), str, 3)
    site.ports, site.peer_ports = {1: 9091, 2: 9092, 3: 9090}, {1: 9093, 2: 9094, 3: 9095}
    settings = settings_of(2, site)
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9093,2@127.0.0.1:9094,3@127.0.0.1:9095"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9094"
    assert settings["offsets.topic.replication.factor"] == "3"
    assert settings["transaction.state.log.min.isr"] == "2"
    assert settings["log.flush.interval.messages"] == "1"
