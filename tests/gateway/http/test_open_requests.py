import contextlib

import pytest

from penstock.gateway.http.open_requests import OpenRequests
from penstock.gateway.http.problems import Problem


def refusal_of(opened: OpenRequests[int], who: str, item: int) -> int | None:
    try:
        with opened.counted(who, item):
            return None
    except Problem as problem:
        return problem.status


def test_one_user_cannot_use_the_whole_limit() -> None:
    opened: OpenRequests[int] = OpenRequests("streams", total_max=3, per_user_max=2)
    with contextlib.ExitStack() as stack:
        for item in (1, 2):
            stack.enter_context(opened.counted("ann", item))
        assert refusal_of(opened, "ann", 3) == 429
        assert refusal_of(opened, "bob", 3) is None
        stack.enter_context(opened.counted("bob", 3))
        assert refusal_of(opened, "cat", 4) == 503
        assert set(opened) == {1, 2, 3}
    assert set(opened) == set()


def test_an_ended_stream_makes_room_however_it_ended() -> None:
    opened: OpenRequests[int] = OpenRequests("streams", total_max=3, per_user_max=1)
    with pytest.raises(ValueError, match="broken"), opened.counted("ann", 1):
        raise ValueError("broken")
    assert refusal_of(opened, "ann", 1) is None
