from penstock.cluster.quorum.start import other_voters
from penstock.config.broker import load


def test_the_voters_of_a_file_are_others_when_they_have_another_number() -> None:
    others = ["2@kafka-2:9093", "11@kafka-11:9093"]
    voters = ",".join(["1@localhost:9093", *others])
    assert other_voters(load(None, ["node.id=1", f"controller.quorum.voters={voters}"])) == others
    assert other_voters(load(None, ["node.id=1", "controller.quorum.voters=1@localhost:9093"])) == []
    assert other_voters(load()) == []
