from penstock_bench.process import parse_written_bytes


def test_bytes_written_to_storage_are_read_from_the_counters_of_the_kernel() -> None:
    io = (
        "rchar: 5\nwchar: 7\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n"
    )
    assert parse_written_bytes(io) == 4096
