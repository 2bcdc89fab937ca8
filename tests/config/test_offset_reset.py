"""The start position of share groups, as text."""

import pytest

from penstock.config.offset_reset import OffsetReset, ResetKind, check_offset_reset, parse_offset_reset


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("earliest", OffsetReset(ResetKind.EARLIEST)),
        ("latest", OffsetReset(ResetKind.LATEST)),
        ("by_duration:PT1H", OffsetReset(ResetKind.BY_DURATION, 3_600_000)),
        ("by_duration:P1DT2H3M4.5S", OffsetReset(ResetKind.BY_DURATION, 93_784_500)),
        ("by_duration:pt0.25s", OffsetReset(ResetKind.BY_DURATION, 250)),
        ("by_duration:PT1H-30M", OffsetReset(ResetKind.BY_DURATION, 1_800_000)),
        ("by_duration:-PT-2S", OffsetReset(ResetKind.BY_DURATION, 2000)),
        ("by_duration:PT-0.5S", None),
        ("by_duration:PT0S", OffsetReset(ResetKind.BY_DURATION, 0)),
        ("by_duration:-PT1S", None),
        ("by_duration:P", None),
        ("by_duration:PT", None),
        ("by_duration:P1DT", None),
        ("by_duration:1h", None),
        ("by_duration:P1M", None),
        ("by_duration:", None),
        ("by_duration", None),
        ("none", None),
        ("Earliest", None),
        ("", None),
    ],
)
def test_a_start_is_read_as_java_reads_it(text: str, meant: OffsetReset | None) -> None:
    if meant is None:
        with pytest.raises(ValueError, match=r"."):
            parse_offset_reset(text)
    else:
        assert parse_offset_reset(text) == meant
    assert (check_offset_reset("share.auto.offset.reset", text) is None) == (meant is not None)
