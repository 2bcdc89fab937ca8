import logging

import pytest

from penstock.config.broker import BrokerConfig
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import ThreadOffload
from penstock.security.identity_counts import IdentityCounts
from penstock.security.sasl.exchange import LoginRefused
from penstock.security.sasl.listener import ListenerLogins
from penstock.security.scram_users import ScramUsers
from penstock.security.token_keys import TokenKeys

USERS = "sasl.jaas.config"


class ConfiguredLogins:
    """The logins of a listener whose settings a test changes."""

    def __init__(self) -> None:
        self.config = BrokerConfig(
            {"sasl.enabled.mechanisms": "PLAIN", USERS: 'PlainLoginModule required user_a="1";'}
        )
        clock = ManualClock()
        self.logins = ListenerLogins(
            "CLIENTS",
            lambda: self.config,
            ScramUsers(dict, lambda: None),
            TokenKeys(ThreadOffload(1, "unused"), clock),
            counts=IdentityCounts(),
            clock=clock,
        )

    def change(self, value: str) -> None:
        self.config = self.config.with_dynamic(
            cluster_wide={}, per_broker={"listener.name.clients.plain." + USERS: value}
        )

    def accepts(self, password: str) -> bool:
        login = self.logins.begin()
        login.handshake("PLAIN", with_headers=True)
        try:
            login.authenticate(f"\0a\0{password}".encode())
        except LoginRefused:
            return False
        return login.is_done


def test_a_changed_password_applies_to_the_next_connection() -> None:
    logins = ConfiguredLogins()
    assert logins.accepts("1")
    logins.change('PlainLoginModule required user_a="2";')
    assert logins.accepts("2")
    assert not logins.accepts("1")


def test_invalid_settings_leave_the_logins_unchanged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logins = ConfiguredLogins()
    logins.change('PlainLoginModule required user_a="hush')
    with caplog.at_level(logging.ERROR):
        assert logins.accepts("1")
        assert logins.accepts("1")
    [record] = caplog.records
    assert "Kept the previous SASL settings" in record.getMessage()
    assert "hush" not in record.getMessage()
