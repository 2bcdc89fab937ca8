"""How the admin port connects to the cluster: a listener of its own broker, and the TLS context."""

import ssl
from collections.abc import Mapping

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.gateway.http.clients import KafkaAccess
from penstock.gateway.http.listener import chosen_listener


def kafka_access(config: BrokerConfig, advertised: Mapping[str, Endpoint]) -> KafkaAccess:
    """`advertised` are the addresses of this broker, by listener. Raises `ConfigError`."""
    endpoint = advertised[chosen_listener(config).name]
    protocol = endpoint.security_protocol
    return KafkaAccess(
        bootstrap=((endpoint.host, endpoint.port),),
        needs_login=protocol.startswith("SASL_"),
        tls=trust_context(config, endpoint.name) if protocol.endswith("SSL") else None,
    )


def trust_context(config: BrokerConfig, listener: str) -> ssl.SSLContext:
    """Build a TLS context that trusts the brokers' trust store, or without one this broker's own certificate.

    This broker's key is left out: otherwise every request would act as the broker.
    """
    from penstock.security.tls.contexts import client_context  # noqa: PLC0415  few have TLS
    from penstock.security.tls.material import Store, material_of  # noqa: PLC0415

    material = material_of(config, listener)
    shown, trusted = material.key_store, material.trust_store
    nothing = Store(kind="PEM")
    context = client_context(msgspec.structs.replace(material, key_store=nothing))
    if trusted.location is None and trusted.pem is None and shown.kind == "PEM":
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if shown.pem is not None:
            context.load_verify_locations(cadata=shown.pem)
        elif shown.location is not None:
            context.load_verify_locations(shown.location)
    return context
