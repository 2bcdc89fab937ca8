"""Share sessions: how requests count them up, what an answer carries, and with whom they end."""

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.share.sessions import (
    PARTITIONS_MAX,
    SESSION_PARTITIONS_MAX,
    MemberKey,
    SessionError,
    ShareSession,
    ShareSessions,
    TopicPartition,
)

ANNE, BOB = MemberKey("crew", "anne"), MemberKey("crew", "bob")
CARL = MemberKey("others", "carl")
P0, P1, P2 = (TopicPartition(b"t" * 16, number) for number in range(3))


def refused(code: ErrorCode) -> "pytest.RaisesExc[SessionError]":
    return pytest.raises(SessionError, match=code.name)


@pytest.fixture
def sessions() -> ShareSessions:
    return ShareSessions(slots_max=3)


@pytest.fixture
def session(sessions: ShareSessions) -> ShareSession:
    return sessions.begin(ANNE, [P0, P1], "connection")


def test_each_request_has_the_next_epoch(session: ShareSession) -> None:
    for epoch in (1, 2, 3):
        session.proceed(epoch)
    with refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH):
        session.proceed(3)
    with refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH):
        session.proceed(5)
    session.proceed(4)


def test_after_the_highest_epoch_comes_the_first(session: ShareSession) -> None:
    session.epoch = 2**31 - 1
    session.proceed(2**31 - 1)
    session.proceed(1)


def test_a_request_without_a_session_is_refused(sessions: ShareSessions) -> None:
    with refused(ErrorCode.SHARE_SESSION_NOT_FOUND):
        sessions.get(ANNE)


def test_a_new_session_takes_the_place_of_the_old_one(sessions: ShareSessions, session: ShareSession) -> None:
    session.proceed(1)
    again = sessions.begin(ANNE, [P2], "connection")
    assert (sessions.get(ANNE), len(sessions), again.epoch) == (again, 1, 1)
    assert list(again.partitions) == [P2]


def test_the_number_of_sessions_is_limited(sessions: ShareSessions) -> None:
    for number in range(3):
        sessions.begin(MemberKey("crew", str(number)), [], number)
    with refused(ErrorCode.SHARE_SESSION_LIMIT_REACHED):
        sessions.begin(ANNE, [], "late")
    sessions.begin(MemberKey("crew", "0"), [], 0)  # in the place of its own
    sessions.end(sessions.get(MemberKey("crew", "1")))
    sessions.begin(ANNE, [], "late")


def test_partitions_are_added_and_removed(session: ShareSession) -> None:
    session.update([P1, P2], [P0])
    assert list(session.partitions) == [P1, P2]


def test_a_partition_added_and_removed_in_one_request_is_not_in_the_session(session: ShareSession) -> None:
    session.update([P2], [P2])
    assert list(session.partitions) == [P0, P1]
    assert not session.must_include(P2, has_records=False, has_failed=False)


def test_a_response_has_records_errors_and_new_partitions(session: ShareSession) -> None:
    session.update([P2], [])
    assert not session.must_include(P0, has_records=False, has_failed=False)
    assert session.must_include(P0, has_records=True, has_failed=False)
    assert session.must_include(P1, has_records=False, has_failed=True)
    assert session.must_include(P2, has_records=False, has_failed=False)
    assert not session.must_include(P2, has_records=False, has_failed=False)


def test_the_end_of_an_error_is_reported_once(session: ShareSession) -> None:
    assert session.must_include(P0, has_records=False, has_failed=True)
    assert session.must_include(P0, has_records=False, has_failed=False)
    assert not session.must_include(P0, has_records=False, has_failed=False)


def test_a_partition_that_was_read_goes_to_the_end(session: ShareSession) -> None:
    session.must_include(P0, has_records=True, has_failed=False)
    assert list(session.partitions) == [P1, P0]


def test_sessions_belong_to_the_connection_that_began_them(sessions: ShareSessions) -> None:
    anne, _, carl = (sessions.begin(key, [P0], owner) for key, owner in ((ANNE, 1), (BOB, 2), (CARL, 1)))
    assert sessions.owned_by(1) == [anne, carl]
    assert sessions.end(anne)
    assert not sessions.end(anne)
    assert sessions.owned_by(1) == [carl]
    assert sessions.partition_count == 2


def test_a_session_may_move_to_another_connection(sessions: ShareSessions) -> None:
    sessions.begin(ANNE, [P0], 1)
    moved = sessions.begin(ANNE, [P0], 2)
    assert (sessions.owned_by(1), sessions.owned_by(2)) == ([], [moved])


def test_the_end_of_a_session_leaves_the_next_one_of_its_member_alone(
    sessions: ShareSessions, session: ShareSession
) -> None:
    again = sessions.begin(ANNE, [P0], "another connection")
    assert not sessions.is_open(session)
    assert not sessions.end(session)
    assert sessions.is_open(again)
    assert sessions.get(ANNE) is again


def test_a_group_has_members_until_its_last_session_ends(sessions: ShareSessions) -> None:
    sessions.begin(ANNE, [P0], 1)
    bob = sessions.begin(BOB, [P0], 2)
    anne = sessions.begin(ANNE, [P0], 1)
    sessions.end(anne)
    assert sessions.has_members("crew")
    sessions.end(bob)
    assert not sessions.has_members("crew")


def test_disabling_share_groups_closes_all_sessions(sessions: ShareSessions, session: ShareSession) -> None:
    sessions.clear()
    assert (len(sessions), sessions.has_members("crew"), sessions.owned_by("connection")) == (0, False, [])


def many(count: int) -> list[TopicPartition]:
    return [TopicPartition(b"n" * 16, number) for number in range(count)]


def test_a_session_has_no_more_partitions_than_fit_into_a_request(
    sessions: ShareSessions, session: ShareSession
) -> None:
    full = many(SESSION_PARTITIONS_MAX)
    with refused(ErrorCode.SHARE_SESSION_LIMIT_REACHED):
        sessions.update(session, full, [])
    assert list(session.partitions) == [P0, P1]
    sessions.update(session, [*full[2:], P0], [])
    with refused(ErrorCode.SHARE_SESSION_LIMIT_REACHED):
        sessions.update(session, [P2], [])
    sessions.update(session, [P0, P1], [P0])
    sessions.update(session, [P2], [])
    assert len(session.partitions) == SESSION_PARTITIONS_MAX


def test_partitions_that_are_new_to_a_session_are_to_be_verified(
    sessions: ShareSessions, session: ShareSession
) -> None:
    assert session.unverified == {P0, P1}
    session.unverified.clear()

    sessions.update(session, [P0, P2], [])
    assert session.unverified == {P2}
    sessions.update(session, [], [P0, P2])
    assert session.unverified == set()
    sessions.update(session, [P0], [])
    assert session.unverified == {P0}


def test_all_sessions_together_have_a_limited_number_of_partitions() -> None:
    sessions = ShareSessions(slots_max=100)
    full = many(SESSION_PARTITIONS_MAX)
    for number in range(PARTITIONS_MAX // SESSION_PARTITIONS_MAX):
        sessions.begin(MemberKey("crew", str(number)), full, number)
    with refused(ErrorCode.SHARE_SESSION_LIMIT_REACHED):
        sessions.begin(ANNE, [P0], "late")
    sessions.end(sessions.get(MemberKey("crew", "0")))
    session = sessions.begin(ANNE, [P0], "late")
    with refused(ErrorCode.SHARE_SESSION_LIMIT_REACHED):
        sessions.update(session, full, [])
