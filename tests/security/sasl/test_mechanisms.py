import pytest

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import ThreadOffload
from penstock.security.sasl.exchange import LoginRefused
from penstock.security.sasl.mechanisms import Mechanisms, mechanisms_of
from penstock.security.scram_users import ScramUsers
from penstock.security.token_keys import TokenKeys

PLAIN = "PlainLoginModule required"


def made(listener: str = "CLIENTS", **settings: str) -> Mechanisms:
    config = BrokerConfig(
        {name.replace("__", "-").replace("_", "."): value for name, value in settings.items()}
    )
    keys = TokenKeys(ThreadOffload(1, "unused"), ManualClock())
    return mechanisms_of(config, listener, ScramUsers(dict, lambda: None), keys, ManualClock())


def test_mechanisms_are_offered_in_their_order() -> None:
    names = "SCRAM-SHA-512,PLAIN,SCRAM-SHA-256"
    assert made(sasl_enabled_mechanisms=names, sasl_jaas_config=f"{PLAIN};").names == tuple(names.split(","))


def test_plain_users_may_differ_by_listener() -> None:
    config = {
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} user_a="all";',
        "listener.name.clients.sasl.jaas.config": f'{PLAIN} user_a="clients";',
        "listener.name.inside.plain.sasl.jaas.config": f'{PLAIN} user_a="inside";',
    }
    for listener, password in (("OTHER", "all"), ("CLIENTS", "clients"), ("INSIDE", "inside")):
        keys = TokenKeys(ThreadOffload(1, "unused"), ManualClock())
        users = ScramUsers(dict, lambda: None)
        mechanisms = mechanisms_of(BrokerConfig(config), listener, users, keys, ManualClock())
        mechanisms.begin("PLAIN").step(f"\0a\0{password}".encode())
        with pytest.raises(LoginRefused):
            mechanisms.begin("PLAIN").step(b"\0a\0another")


def test_the_lifetime_of_a_login_may_differ_by_mechanism() -> None:
    mechanisms = mechanisms_of(
        BrokerConfig(
            {
                "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
                "connections.max.reauth.ms": "1000",
                "listener.name.clients.scram-sha-512.connections.max.reauth.ms": "2000",
            }
        ),
        "CLIENTS",
        ScramUsers(dict, lambda: None),
        TokenKeys(ThreadOffload(1, "unused"), ManualClock()),
        ManualClock(),
    )
    assert [mechanisms.reauthenticate_ms(name) for name in mechanisms.names] == [1000, 2000]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "sasl.enabled.mechanisms is empty"),
        ({"sasl_enabled_mechanisms": "GSSAPI"}, "GSSAPI, which Penstock does not support"),
        ({"sasl_enabled_mechanisms": "PLAIN"}, "offers PLAIN, but has no users"),
        (
            {"sasl_enabled_mechanisms": "PLAIN", "sasl_jaas_config": "ScramLoginModule required;"},
            "offers PLAIN, but has no users",
        ),
        ({"sasl_enabled_mechanisms": "OAUTHBEARER"}, "has no keys to verify tokens"),
    ],
)
def test_incomplete_settings_are_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        made(**settings)
