from penstock.cluster.fetching.session import FetchLimits, FetchSession
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, ForgottenTopic

A, B = b"a" * 16, b"b" * 16
LIMITS = FetchLimits(wait_ms_max=500, bytes_min=1, bytes_max=1000)


def at(offset: int, partition: int = 0) -> FetchPartition:
    return FetchPartition(partition=partition, fetch_offset=offset)


def named(request: FetchRequest) -> list[tuple[bytes, int, int]]:
    return [
        (topic.topic_id, each.partition, each.fetch_offset)
        for topic in request.topics
        for each in topic.partitions
    ]


def test_the_first_request_names_all_partitions_and_the_replica() -> None:
    session = FetchSession(3, 77)
    request = session.request({(B, 0): at(5), (A, 1): at(1, 1), (A, 0): at(0)}, LIMITS)
    assert named(request) == [(A, 0, 0), (A, 1, 1), (B, 0, 5)]
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (3, 77)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (500, 1, 1000)


def test_later_requests_name_changed_and_forgotten_partitions() -> None:
    session = FetchSession(3, 77)
    session.request({(A, 0): at(0), (B, 0): at(5), (B, 1): at(6, 1)}, LIMITS)
    session.answered(99)
    request = session.request({(A, 0): at(1), (B, 0): at(5)}, LIMITS)
    assert named(request) == [(A, 0, 1)]
    assert request.forgotten_topics_data == [ForgottenTopic(topic_id=B, partitions=[1])]
    assert (request.session_id, request.session_epoch) == (99, 1)
    session.answered(99)
    assert session.request({(A, 0): at(1), (B, 0): at(5)}, LIMITS).session_epoch == 2


def test_a_leader_without_a_session_gets_all_partitions_each_time() -> None:
    session = FetchSession(3, 77)
    for _ in range(2):
        request = session.request({(A, 0): at(0)}, LIMITS)
        assert (named(request), request.session_epoch) == ([(A, 0, 0)], 0)
        session.answered(0)


def test_a_broken_session_is_restarted() -> None:
    session = FetchSession(3, 77)
    session.request({(A, 0): at(0)}, LIMITS)
    session.answered(99)
    session.reset()
    request = session.request({(A, 0): at(0)}, LIMITS)
    assert (named(request), request.session_id, request.session_epoch) == ([(A, 0, 0)], 0, 0)
