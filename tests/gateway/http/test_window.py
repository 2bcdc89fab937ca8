from penstock.client.aio import TopicPartition
from penstock.gateway.http.window import Window

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_an_offset_acknowledges_the_records_before_it_in_its_partition_only() -> None:
    window = Window(5)
    for where, offset in ((A, 3), (A, 4), (A, 9), (B, 3)):
        window.sent(where, offset)
    assert window.room == 1
    window.acknowledge(A, 5)
    assert window.room == 3
    window.acknowledge(A, 5)
    window.acknowledge(TopicPartition("other", 0), 99)
    assert window.room == 3


def test_a_removed_partition_no_longer_takes_room() -> None:
    window = Window(2)
    window.sent(A, 0)
    window.sent(B, 0)
    window.forget(A)
    assert window.room == 1
    window.acknowledge(A, 10)
    assert window.room == 1
