import random

import pytest

from penstock.cluster.controller.identifiers import new_cluster_id, new_uuid, uuid_bytes, uuid_text


def test_a_cluster_id_is_22_characters_of_base64_that_do_not_begin_with_a_dash() -> None:
    randomness = random.Random(7)
    identifiers = [new_cluster_id(randomness) for _ in range(300)]
    assert {len(each) for each in identifiers} == {22}
    assert not any(each.startswith("-") for each in identifiers)
    assert len(set(identifiers)) == 300


def test_the_text_of_a_uuid_is_read_back() -> None:
    identifier = new_uuid(random.Random(1))
    assert uuid_bytes(uuid_text(identifier)) == identifier
    assert uuid_text(bytes(16)) == "AAAAAAAAAAAAAAAAAAAAAA"


def test_a_uuid_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a UUID of 16 bytes in base64"):
        uuid_bytes("AAAA")
