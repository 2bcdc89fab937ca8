from penstock_bench.peers.cluster import StreamState
from penstock_bench.peers.products.rabbitmq import led_queues


def test_leader_and_replicas_of_a_queue_are_read_from_the_list_of_queues() -> None:
    listed = b"""[
        {"name": "a", "leader": "bench-2@localhost", "online": ["bench-1@localhost", "bench-2@localhost"]},
        {"name": "b", "leader": "", "online": ""}
    ]"""
    assert led_queues(listed, ["b", "a", "c"]) == [StreamState(0, 0), StreamState(2, 2), StreamState(0, 0)]
