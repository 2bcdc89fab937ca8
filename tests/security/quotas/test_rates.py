from penstock.security.quotas.rates import SampledRate, TokenBucket


def test_a_client_below_the_limit_never_waits() -> None:
    rate = SampledRate(11, 1000)
    for second in range(60):
        rate.record(90, second * 1000.0)
        assert rate.wait_ms(100, second * 1000.0) == 0


def test_a_burst_waits_until_the_average_is_at_the_limit_again() -> None:
    rate = SampledRate(11, 1000)
    rate.record(2000, 0)
    # 2000 in a window that counts as 10 s is 200 a second: as long again brings it to 100.
    assert rate.wait_ms(100, 0) == 10_000


def test_usage_older_than_all_samples_no_longer_counts() -> None:
    rate = SampledRate(3, 1000)
    rate.record(10_000, 0)
    assert rate.wait_ms(1, 2999) > 0
    assert rate.wait_ms(1, 3000) == 0


def test_a_token_bucket_allows_a_burst_and_then_its_rate() -> None:
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
