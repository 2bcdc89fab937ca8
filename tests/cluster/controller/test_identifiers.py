import random

from penstock.cluster.controller.identifiers import new_cluster_id


def test_a_cluster_id_is_22_characters_of_base64_that_do_not_begin_with_a_dash() -> None:
    randomness = random.Random(7)
    identifiers = [new_cluster_id(randomness) for _ in range(300)]
    assert {len(each) for each in identifiers} == {22}
    assert not any(each.startswith("-") for each in identifiers)
    assert len(set(identifiers)) == 300
