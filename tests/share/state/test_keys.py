import pytest

from penstock.share.state.keys import InvalidShareKey, coordinator_key, parse_coordinator_key
from penstock.share.state.values import SharePartitionKey

TOPIC_ID = bytes(range(16))


@pytest.mark.parametrize("group", ["g", "a:b:c", "mit Leerzeichen"])
def test_a_key_is_found_again_in_its_name(group: str) -> None:
    key = SharePartitionKey(group, TOPIC_ID, 7)

    assert coordinator_key(key) == f"{group}:AAECAwQFBgcICQoLDA0ODw:7"
    assert parse_coordinator_key(coordinator_key(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "g:0",
        "g:AAECAwQFBgcICQoLDA0ODw",
        ":AAECAwQFBgcICQoLDA0ODw:0",
        " :AAECAwQFBgcICQoLDA0ODw:0",
        "g:AAECAwQFBgcICQoLDA0ODw:zero",
        "g:AAECAwQFBgcICQoLDA0ODw:4294967296",
        "g:AAECAwQFBgcICQoLDA0:0",
        "g:AAECAwQFBgcICQoLDA0ODwAAAAAAAAA:0",
        "g:!AECAwQFBgcICQoLDA0ODw:0",
        "g:AAECAwQFBgcICQoLDA0ODw:",
    ],
)
def test_an_invalid_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidShareKey):
        parse_coordinator_key(text)
