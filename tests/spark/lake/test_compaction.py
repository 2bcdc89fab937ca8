from penstock.spark.lake.compaction import Candidate, groups_to_merge


def files(*sizes: int, partition: str = "p") -> list[Candidate]:
    return [
        Candidate(path=f"{partition}{at}", size_bytes=size, partition=(partition,))
        for at, size in enumerate(sizes)
    ]


def paths(groups: list[list[Candidate]]) -> list[list[str]]:
    return [[file.path for file in group] for group in groups]


def test_small_files_are_merged_up_to_the_wanted_size() -> None:
    assert paths(groups_to_merge(files(40, 40, 40, 40, 10), 100)) == [["p0", "p1"], ["p2", "p3", "p4"]]


def test_files_that_are_large_enough_are_left_alone() -> None:
    assert paths(groups_to_merge(files(10, 75, 200, 10), 100)) == [["p0", "p3"]]


def test_a_lone_small_file_is_left_alone() -> None:
    assert groups_to_merge(files(10, 80), 100) == []


def test_files_of_two_partitions_are_not_merged() -> None:
    found = groups_to_merge([*files(10, 10, partition="a"), *files(10, partition="b")], 100)
    assert paths(found) == [["a0", "a1"]]
