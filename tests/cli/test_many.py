"""Several brokers on one host."""

import pytest

from penstock.cli.many import _admin_listener
from penstock.cli.serve import UpOptions


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((), [[], ["penstock.admin.listener=127.0.0.1:0"], ["penstock.admin.listener=127.0.0.1:0"]]),
        (
            ("penstock.admin.listener=0.0.0.0:8000",),
            [[], ["penstock.admin.listener=0.0.0.0:8001"], ["penstock.admin.listener=0.0.0.0:8002"]],
        ),
        (
            ("penstock.admin.listener=127.0.0.1:0",),
            [[], ["penstock.admin.listener=127.0.0.1:0"], ["penstock.admin.listener=127.0.0.1:0"]],
        ),
        (("penstock.admin.listener=",), [[], [], []]),
    ],
)
def test_each_broker_has_an_admin_port_of_its_own(
    settings: tuple[str, ...], expected: list[list[str]]
) -> None:
    options = UpOptions(settings=settings, brokers=3)
    assert [_admin_listener(options, number) for number in range(3)] == expected
