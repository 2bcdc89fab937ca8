"""The credentials of a client and the TLS of its connections."""

import ssl

import msgspec

from penstock.client.security import tls_context
from penstock.client.settings import ClientSettings, SaslSettings

_PASSWORD_MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """`logins` are tried in order until the broker accepts one; without any the client is anonymous."""

    tls: ssl.SSLContext | None = None
    logins: tuple[SaslSettings, ...] = ()


ANONYMOUS = Security()


def with_password(username: str, password: str, tls: ssl.SSLContext | None = None) -> Security:
    """A user whose mechanism is not known: SCRAM first, because it does not send the password."""
    logins = tuple(
        SaslSettings(mechanism=each, username=username, password=password) for each in _PASSWORD_MECHANISMS
    )
    return Security(tls=tls, logins=logins)


def with_token(token: str, tls: ssl.SSLContext | None = None) -> Security:
    return Security(tls=tls, logins=(SaslSettings(mechanism="OAUTHBEARER", token=token),))


def of_settings(settings: ClientSettings) -> Security:
    """The security that Kafka's properties ask for (`security.protocol`, `sasl.mechanism`, …)."""
    return Security(
        tls=None if settings.tls is None else tls_context(settings.tls),
        logins=() if settings.sasl is None else (settings.sasl,),
    )
