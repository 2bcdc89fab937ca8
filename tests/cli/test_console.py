import pytest

from penstock.cli.console import LISTEN_DEFAULT, check_certificate, needs_login
from penstock.cli.errors import CommandError
from penstock.cli.options import listen_address

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
def test_users_log_in_unless_the_settings_name_one_and_only_this_machine_is_served(
    properties: dict[str, str], host: str, is_needed: bool
) -> None:
    assert needs_login(properties, host) is is_needed


def test_an_address_has_a_host_and_a_port() -> None:
    assert listen_address("--listen", "127.0.0.1:0", LISTEN_DEFAULT) == ("127.0.0.1", 0)
    assert listen_address("--listen", "[::1]:9080", LISTEN_DEFAULT) == ("::1", 9080)
    for wrong in ("9080", "localhost", ":9080", "localhost:web", "localhost:70000"):
        with pytest.raises(CommandError, match="is not an address"):
            listen_address("--listen", wrong, LISTEN_DEFAULT)


def test_the_user_of_a_certificate_is_not_lent_to_others() -> None:
    trusting = {"security.protocol": "SSL", "ssl.truststore.location": "ca.pem"}
    named = {**trusting, "ssl.keystore.location": "me.pem"}
    check_certificate(named, "127.0.0.1")
    check_certificate(trusting, "0.0.0.0")
    with pytest.raises(CommandError, match="could act as the user of this certificate"):
        check_certificate(named, "0.0.0.0")
