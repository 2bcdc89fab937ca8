from penstock.storage.compaction.keys import ENTRY_BYTES, KeyOffsets


def test_the_key_map_is_full_at_its_bound_in_bytes() -> None:
    keys = KeyOffsets(3 * ENTRY_BYTES)
    fullness = []
    for number, key in enumerate([b"a", b"b", b"a", b"c"]):
        keys.put(key, number)
        fullness.append(keys.is_full)
    assert fullness == [False, False, False, True]
    assert [keys.newest(key) for key in (b"a", b"b", b"c", b"d")] == [2, 1, 3, -1]
