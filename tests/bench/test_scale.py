from penstock_bench import scale


def test_values_of_the_command_line_replace_those_of_the_scale() -> None:
    adjusted = scale.adjust(scale.FULL, rounds=2, seconds=0.5, minutes_max=3, log_gb=0.5)
    assert (adjusted.rounds, adjusted.peers.rounds) == (2, 2)
    assert (adjusted.round_s, adjusted.peers.round_s) == (0.5, 0.5)
    assert adjusted.minutes_max == 3
    assert adjusted.recovery_log_bytes == adjusted.cluster.catch_up_bytes == 500_000_000


def test_without_options_the_scale_stays_the_same() -> None:
    assert scale.adjust(scale.QUICK) == scale.QUICK
