from penstock.cluster.quorum.start import other_voters
from penstock.config.broker import load


def test_voters_with_another_node_id_differ_from_those_of_the_file() -> None:
    others = ["2@kafka-2:9093", "11@kafka-11:9093"]
    voters = ",".join(["1@localhost:9093", *others])
    assert other_voters(load(None, ["node.id=1", f"controller.quorum.voters={voters}"])) == others
    assert other_voters(load(None, ["node.id=1", "controller.quorum.voters=1@localhost:9093"])) == []
    assert other_voters(load()) == []
