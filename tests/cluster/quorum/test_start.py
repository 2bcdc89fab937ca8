import pytest

from penstock.cluster.joining import Members
from penstock.cluster.quorum.start import other_voters, raft_settings
from penstock.config.broker import load


def test_voters_with_another_node_id_differ_from_those_of_the_file() -> None:
    others = ["2@kafka-2:9093", "11@kafka-11:9093"]
    voters = ",".join(["1@localhost:9093", *others])
    assert other_voters(load(None, ["node.id=1", f"controller.quorum.voters={voters}"])) == others
    assert other_voters(load(None, ["node.id=1", "controller.quorum.voters=1@localhost:9093"])) == []
    assert other_voters(load()) == []


@pytest.mark.parametrize(
    ("settings", "are_controllers", "auto_join"),
    [
        ([], False, True),
        ([], True, False),
        (["controller.quorum.auto.join.enable=true"], True, True),
        (["controller.quorum.auto.join.enable=true", "process.roles=broker"], True, False),
        (["process.roles=broker"], False, False),
    ],
)
def test_only_a_node_with_the_role_of_a_controller_asks_for_a_vote(
    settings: list[str], are_controllers: bool, auto_join: bool
) -> None:
    members = Members([("h", 9093)], "CONTROLLER", are_controllers)
    assert raft_settings(load(None, settings), members, is_mixed=False).auto_join is auto_join
