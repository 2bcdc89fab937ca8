"""The first requests on a connection: ApiVersions, then the SASL login. Pure: no socket, no waiting.

`handshake` is a generator: it yields the requests to send, is sent each response, and returns a `BrokerInfo`.
SaslHandshake v1 announces that the exchange comes in SaslAuthenticate requests (KIP-152).
"""

from collections.abc import Generator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from penstock.client.errors import AuthenticationFailed, UnsupportedApi, error_name
from penstock.client.security import sasl_exchange
from penstock.client.settings import SaslSettings
from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import api_versions, sasl_authenticate, sasl_handshake

SOFTWARE_NAME: Final = "penstock"
_SOFTWARE: Final = api_versions.ApiVersionsRequest(
    client_software_name=SOFTWARE_NAME, client_software_version="0.1"
)


class HandshakeRequest(NamedTuple):
    api_key: int
    version: int
    request: Any


class MechanismNotOffered(AuthenticationFailed):
    """The broker does not offer the SASL mechanism; the text says which it offers."""


class BrokerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's API versions, its features, and how long the login is valid (0: for ever)."""

    address: str
    versions: Mapping[int, tuple[int, int]] = {}
    features: Mapping[str, int] = {}
    """The finalized levels."""
    supported_features: Mapping[str, tuple[int, int]] = {}
    session_lifetime_ms: int = 0

    def version(self, api_key: int, at_most: int | None = None) -> int:
        """The newest version of an API that both sides know, not above `at_most`."""
        ours = apis.codec(api_key).VERSIONS
        first, last = self.versions.get(api_key, (0, -1))
        newest = min(last, ours[-1] if at_most is None else min(ours[-1], at_most))
        if newest < max(first, ours[0]):
            raise UnsupportedApi(
                f"the broker at {self.address} offers {apis.APIS[api_key].name} in versions {first} to {last}, "
                f"and this client supports none of them: the broker may be too old or too new"
            )
        return newest


def handshake(address: str, sasl: SaslSettings | None) -> Generator[HandshakeRequest, Any, BrokerInfo]:
    info = yield from _versions(address)
    if sasl is None:
        return info
    lifetime_ms = yield from _login(info, sasl)
    return msgspec.structs.replace(info, session_lifetime_ms=lifetime_ms)


def _versions(address: str) -> Generator[HandshakeRequest, Any, BrokerInfo]:
    version = api_versions.VERSIONS[-1]
    response = yield HandshakeRequest(apis.API_VERSIONS_KEY, version, _SOFTWARE)
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION:  # KIP-511: the response lists what it knows
        known = {api.api_key: api.max_version for api in response.api_keys}
        version = min(version, known.get(apis.API_VERSIONS_KEY, 0))
        response = yield HandshakeRequest(apis.API_VERSIONS_KEY, version, _SOFTWARE)
    if response.error_code:
        raise UnsupportedApi(
            f"the broker at {address} did not list its API versions: {error_name(response.error_code)}"
        )
    return BrokerInfo(
        address=address,
        versions={api.api_key: (api.min_version, api.max_version) for api in response.api_keys},
        features={feature.name: feature.max_version_level for feature in response.finalized_features},
        supported_features={
            each.name: (each.min_version, each.max_version) for each in response.supported_features
        },
    )


def _login(info: BrokerInfo, sasl: SaslSettings) -> Generator[HandshakeRequest, Any, int]:
    address = info.address
    request = sasl_handshake.SaslHandshakeRequest(mechanism=sasl.mechanism)
    response = yield HandshakeRequest(sasl_handshake.API_KEY, 1, request)
    if response.error_code:
        raise MechanismNotOffered(
            f"the broker at {address} does not offer {sasl.mechanism}; it offers "
            f"{', '.join(response.mechanisms) or 'nothing'}: set sasl.mechanism"
        )
    version = info.version(sasl_authenticate.API_KEY)
    exchange = sasl_exchange(sasl)
    sent = next(exchange)
    while True:
        authenticate = sasl_authenticate.SaslAuthenticateRequest(auth_bytes=sent)
        response = yield HandshakeRequest(sasl_authenticate.API_KEY, version, authenticate)
        if response.error_code:
            reason = response.error_message or error_name(response.error_code)
            whom = f"user {sasl.username!r}" if sasl.username else "the token"
            raise AuthenticationFailed(f"the broker at {address} rejected {whom}: {reason}")
        try:
            sent = exchange.send(response.auth_bytes)
        except StopIteration:
            return int(response.session_lifetime_ms)
