import pytest

from penstock.gateway.http.problems import Problem
from penstock.gateway.http.subscription_messages import read_message


@pytest.mark.parametrize("offset", ["-1", "9223372036854775808", "[" * 5000 + "]" * 5000])
def test_an_invalid_offset_is_refused(offset: str) -> None:
    with pytest.raises(Problem):
        read_message('{"type":"commit","offsets":[{"topic":"t","partition":0,"offset":' + offset + "}]}")
