"""The user name that other brokers derive from this broker's certificate."""

import logging
import ssl
from typing import Any

from penstock.config.broker import BrokerConfig
from penstock.config.settings import security
from penstock.security.principal_rules import NoMatchingRule, PrincipalRules, subject_name
from penstock.security.tls.contexts import client_context, server_context
from penstock.security.tls.material import material_of

log = logging.getLogger(__name__)


def own_user(config: BrokerConfig, listener: str) -> str | None:
    """The user of this broker on a listener of another broker with the same settings; None if there is none."""
    material = material_of(config, listener)
    server, client = server_context(material), client_context(material)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE  # it is this very process
    try:
        certificate = _presented_certificate(server, client)
        rules = PrincipalRules(config.for_listener(listener, security.SSL_PRINCIPAL_MAPPING_RULES))
        return rules.name_of(subject_name(certificate["subject"])) if certificate else None
    except (ssl.SSLError, NoMatchingRule) as error:
        log.warning("This broker's own certificate maps to no principal: %s. listener=%s", error, listener)
        return None


def _presented_certificate(server: ssl.SSLContext, client: ssl.SSLContext) -> Any:
    """The client's certificate as the server sees it, after a handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    connecting = client.wrap_bio(to_client, to_server)
    is_done = False
    while not is_done:
        is_done = _step(connecting)
        is_done = _step(serving) and is_done
    return serving.getpeercert()


def _step(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
