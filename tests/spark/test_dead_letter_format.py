"""Dead letters on the wire."""

from penstock.spark.dead_letter_format import DeadLetter, Origin, read_headers

OURS = (
    ("dlq.pipeline", b"payments"),
    ("dlq.step", b"orders"),
    ("dlq.error", "größe: required, but missing".encode()),
    ("dlq.topic", b"orders"),
    ("dlq.partition", b"2"),
    ("dlq.offset", b"17"),
    ("dlq.timestamp", b"1777896000000"),
)


def test_the_headers_of_the_record_and_the_added_ones_are_separated() -> None:
    headers = (("trace", b"\xff"), ("empty", None), *OURS)
    assert read_headers(headers) == DeadLetter(
        pipeline="payments",
        step="orders",
        error="größe: required, but missing",
        origin=Origin(topic="orders", partition=2, offset=17, timestamp_ms=1777896000000),
        headers=(("trace", b"\xff"), ("empty", None)),
    )


def test_the_dead_letter_of_a_dead_letter_keeps_the_first_as_its_headers() -> None:
    second = (("dlq.pipeline", b"repair"), ("dlq.step", b"s"), ("dlq.error", b"again"))
    letter = read_headers((*OURS, *second))
    assert letter is not None
    assert (letter.pipeline, letter.error, letter.origin) == ("repair", "again", None)
    assert letter.headers == OURS


def test_other_records_are_no_dead_letters() -> None:
    assert read_headers([("trace", b"1")]) is None


def test_a_letter_with_a_damaged_origin_has_none() -> None:
    letter = read_headers([("dlq.pipeline", b"p"), ("dlq.topic", b"t"), ("dlq.partition", b"x")])
    assert letter is not None
    assert letter.origin is None
