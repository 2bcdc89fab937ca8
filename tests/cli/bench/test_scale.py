from penstock.cli.bench import scale


def test_what_was_given_on_the_command_line_takes_the_place_of_the_scale_s_own() -> None:
    adjusted = scale.adjusted(scale.full(), rounds=2, seconds=0.5, minutes_max=3, log_gb=0.5)
    assert (adjusted.rounds, adjusted.peers.rounds) == (2, 2)
    assert (adjusted.round_s, adjusted.peers.round_s) == (0.5, 0.5)
    assert adjusted.minutes_max == 3
    assert adjusted.recovery_log_bytes == adjusted.cluster.catch_up_bytes == 500_000_000


def test_what_was_not_given_stays() -> None:
    assert scale.adjusted(scale.quick()) == scale.quick()
