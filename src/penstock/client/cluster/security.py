"""Who a client is, and how its connections are protected."""

import ssl

import msgspec

from penstock.client.security import tls_context
from penstock.client.settings import ClientSettings, SaslSettings

_PASSWORD_MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """`logins` are tried in their order until the broker takes one; without any the client is anonymous."""

    tls: ssl.SSLContext | None = None
    logins: tuple[SaslSettings, ...] = ()


ANONYMOUS = Security()


def with_password(username: str, password: str, tls: ssl.SSLContext | None = None) -> Security:
    """A user whose mechanism is not known: SCRAM first, which does not show the password to the broker."""
    logins = tuple(
        SaslSettings(mechanism=each, username=username, password=password) for each in _PASSWORD_MECHANISMS
    )
    return Security(tls=tls, logins=logins)


def with_token(token: str, tls: ssl.SSLContext | None = None) -> Security:
    return Security(tls=tls, logins=(SaslSettings(mechanism="OAUTHBEARER", token=token),))


def of_settings(settings: ClientSettings) -> Security:
    """What Kafka's properties (`security.protocol`, `sasl.mechanism`, `ssl.truststore.location`, …) ask for."""
    return Security(
        tls=None if settings.tls is None else tls_context(settings.tls),
        logins=() if settings.sasl is None else (settings.sasl,),
    )
