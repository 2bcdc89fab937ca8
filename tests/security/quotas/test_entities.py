import pytest

from penstock.security.quotas.entities import Entity, Share, share_of

USER = ("user", "alice")
ANY_USER = ("user", None)
CLIENT = ("client-id", "app")
ANY_CLIENT = ("client-id", None)

# From the most to the least specific, with who shares each.
ORDER: list[tuple[Entity, tuple[str | None, str | None]]] = [
    ((CLIENT, USER), ("alice", "app")),
    ((ANY_CLIENT, USER), ("alice", "app")),
    ((USER,), ("alice", None)),
    ((CLIENT, ANY_USER), ("alice", "app")),
    ((ANY_CLIENT, ANY_USER), ("alice", "app")),
    ((ANY_USER,), ("alice", None)),
    ((CLIENT,), (None, "app")),
    ((ANY_CLIENT,), (None, "app")),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_most_specific_quota_applies(first: int) -> None:
    quotas = {entity: {"k": float(number)} for number, (entity, _) in enumerate(ORDER) if number >= first}
    user, client_id = ORDER[first][1]
    assert share_of(quotas, "k", "alice", "app") == Share(float(first), user, client_id)


def test_a_quota_of_another_user_or_of_another_kind_does_not_apply() -> None:
    quotas: dict[Entity, dict[str, float]] = {(("user", "bob"),): {"k": 1.0}, (USER,): {"other": 1.0}}
    assert share_of(quotas, "k", "alice", "app") is None
