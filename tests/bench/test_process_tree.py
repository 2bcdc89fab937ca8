import os

from penstock_bench.process_tree import cpu_s, descendants, memory_kib, parents, tree


def test_descendants_of_a_process_are_found_at_any_depth() -> None:
    assert descendants({1: 0, 2: 1, 3: 2, 4: 3, 5: 1}, 2) == {3, 4}


def test_a_process_is_in_its_own_tree_and_has_memory_and_a_parent() -> None:
    me = os.getpid()
    assert me in tree(me)
    assert parents()[me] == os.getppid()
    assert memory_kib(me) > 1000
    assert cpu_s(me) > 0


def test_a_process_that_has_ended_has_no_memory_and_no_processor_time() -> None:
    none_such = 2**22 + 1  # above the kernel's highest id
    assert memory_kib(none_such) == 0
    assert cpu_s(none_such) == 0
