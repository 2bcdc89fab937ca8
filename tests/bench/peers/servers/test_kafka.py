from penstock_bench.peers.servers.kafka import KafkaNode


def test_a_lone_node_needs_no_other_to_acknowledge() -> None:
    settings = KafkaNode("/data", 1, 9092, {1: 9093}).all_settings()
    assert settings["controller.quorum.bootstrap.servers"] == "127.0.0.1:9093"
    assert settings["transaction.state.log.replication.factor"] == "1"
    assert settings["transaction.state.log.min.isr"] == "1"


def test_nodes_of_a_cluster_know_all_voters_and_replicate_their_internal_topics() -> None:
    ports = {1: 9093, 2: 9094, 3: 9095}
    settings = KafkaNode("/data", 2, 9092, ports, {"log.flush.interval.messages": "1"}).all_settings()
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9093,2@127.0.0.1:9094,3@127.0.0.1:9095"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9094"
    assert settings["offsets.topic.replication.factor"] == "3"
    assert settings["transaction.state.log.min.isr"] == "2"
    assert settings["log.flush.interval.messages"] == "1"
