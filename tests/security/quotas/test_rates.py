from penstock.security.quotas.rates import SampledRate, TokenBucket


def test_who_stays_below_the_limit_never_waits() -> None:
    rate = SampledRate(11, 1000)
    for second in range(60):
        rate.record(90, second * 1000.0)
        assert rate.wait_ms(100, second * 1000.0) == 0


def test_a_burst_waits_until_the_average_is_at_the_limit_again() -> None:
    rate = SampledRate(11, 1000)
    rate.record(2000, 0)
    # 2000 in a window that counts as 10 s is 200 a second: as long again brings it to 100.
    assert rate.wait_ms(100, 0) == 10_000


def test_what_is_older_than_all_samples_counts_no_more() -> None:
    rate = SampledRate(3, 1000)
    rate.record(10_000, 0)
    assert rate.wait_ms(1, 2999) > 0
    assert rate.wait_ms(1, 3000) == 0


def test_a_bucket_lets_a_burst_through_and_then_so_much_a_second() -> None:
    bucket = TokenBucket(10, 5, 0)
    bucket.record(50, 5, 0)
    assert bucket.wait_ms(5, 0) == 0  # all credit is used, none is owed
    bucket.record(10, 5, 0)
    assert bucket.wait_ms(5, 0) == 2000
    assert bucket.wait_ms(5, 2000) == 0


def test_credit_does_not_grow_beyond_the_burst() -> None:
    bucket = TokenBucket(10, 5, 0)
    bucket.record(100, 5, 1_000_000)
    assert bucket.wait_ms(5, 1_000_000) == 10_000
