import pytest

from penstock.cli.console import needs_login

_SASL = {"security.protocol": "SASL_SSL"}
_USER = {**_SASL, "sasl.username": "ops", "sasl.password": "secret"}


@pytest.mark.parametrize(
    ("properties", "host", "is_needed"),
    [
        ({}, "0.0.0.0", False),
        ({"security.protocol": "SSL"}, "0.0.0.0", False),
        (_SASL, "127.0.0.1", True),
        (_USER, "127.0.0.1", False),
        (_USER, "localhost", False),
        (_USER, "0.0.0.0", True),
        (_USER, "10.0.0.7", True),
    ],
)
def test_users_log_in_unless_the_file_names_one_and_only_this_machine_is_served(
    properties: dict[str, str], host: str, is_needed: bool
) -> None:
    assert needs_login(properties, host) is is_needed
