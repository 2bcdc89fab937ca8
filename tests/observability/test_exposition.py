from penstock.observability.exposition import Family, Histogram, histogram_samples, text

FAMILY = Family(name="x_total", kind="counter", help="Of what\nis counted")


def test_a_family_is_its_head_and_its_samples() -> None:
    lines = text(FAMILY, [({"topic": 'a"\\\n'}, 3), ({}, 0.5)])
    assert "".join(lines) == (
        "# HELP x_total Of what\\nis counted\n"
        "# TYPE x_total counter\n"
        'x_total{topic="a\\"\\\\\\n"} 3\n'
        "x_total 0.5\n"
    )


def test_buckets_of_a_histogram_are_cumulative_and_hold_their_bound() -> None:
    histogram = Histogram((0.1, 1.0))
    for value in (0.1, 0.5, 7.0):
        histogram.observe(value)
    family = Family(name="x_seconds", kind="histogram", help="")
    assert list(histogram_samples(family, histogram, {"api": "Fetch"})) == [
        'x_seconds_bucket{api="Fetch",le="0.1"} 1\n',
        'x_seconds_bucket{api="Fetch",le="1"} 2\n',
        'x_seconds_bucket{api="Fetch",le="+Inf"} 3\n',
        'x_seconds_sum{api="Fetch"} 7.6\n',
        'x_seconds_count{api="Fetch"} 3\n',
    ]
