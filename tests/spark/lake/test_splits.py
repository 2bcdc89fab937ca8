from penstock.spark.lake.splits import pack


def sizes(*given: int, limit: int = 10) -> list[list[int]]:
    return pack(given, lambda size: size, limit)


def test_small_files_share_a_task_up_to_the_limit() -> None:
    assert sizes(4, 6, 1, 9, 9) == [[4, 6], [1, 9], [9]]


def test_a_file_larger_than_the_limit_has_a_task_of_its_own() -> None:
    assert sizes(3, 50, 3) == [[3], [50], [3]]


def test_no_files_need_no_task() -> None:
    assert sizes() == []
