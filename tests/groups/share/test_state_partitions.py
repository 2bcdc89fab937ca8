from penstock.groups.share.state_partitions import StatePartitions, decode_state_partitions

A, B = b"a" * 16, b"b" * 16


def test_a_partition_is_initialized_and_deleted() -> None:
    states = StatePartitions().begin_initializing({A: frozenset({0, 1})}, {A: "a"})
    assert decode_state_partitions(states.value()) == states

    states = states.end_initializing({A: frozenset({0, 1})}, {A: frozenset({0})})
    assert (states.initializing, states.initialized) == ({}, {A: frozenset({0})})

    states = states.begin_deleting([A])
    assert (states.initialized, states.deleting, states.names) == ({}, frozenset({A}), {A: "a"})
    assert decode_state_partitions(states.value()) == states
    assert states.remove([A, B]) == StatePartitions()


def test_the_record_of_an_initialized_topic_has_its_name() -> None:
    states = StatePartitions().begin_initializing({A: frozenset({0})}, {A: "a"})

    states = states.end_initializing({A: frozenset({0})}, {A: frozenset({0})})

    assert [each.topic_name for each in states.value().initialized_topics] == ["a"]


def test_a_partition_subscribed_again_before_its_deletion_is_kept() -> None:
    partitions = {A: frozenset({0})}
    states = StatePartitions().begin_initializing(partitions, {A: "a"}).begin_deleting([A])

    states = states.begin_initializing(partitions, {A: "a"})

    assert (states.deleting, states.initializing) == (frozenset(), partitions)
