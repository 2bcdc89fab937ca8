from penstock.cli.bench.peers.clusters import Led
from penstock.cli.bench.peers.clusters.rabbitmq import led_queues


def test_leader_and_replicas_of_a_queue_are_read_from_the_list_of_queues() -> None:
    listed = b"""[
        {"name": "a", "leader": "bench-2@localhost", "online": ["bench-1@localhost", "bench-2@localhost"]},
        {"name": "b", "leader": "", "online": ""}
    ]"""
    assert led_queues(listed, ["b", "a", "c"]) == [Led(0, 0), Led(2, 2), Led(0, 0)]
