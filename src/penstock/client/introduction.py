"""What a client says first on a connection: which versions, and who it is. Pure: no socket, no waiting.

`introduction` is a generator of the requests to send, which is sent each answer; it returns what was learned. The
blocking and the asyncio client both play it. SaslHandshake v1 announces that the exchange comes in SaslAuthenticate
requests (KIP-152).
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

_SOFTWARE: Final = api_versions.ApiVersionsRequest(
    client_software_name="penstock", client_software_version="0.1"
)


class Ask(NamedTuple):
    api_key: int
    version: int
    request: Any


class MechanismNotOffered(AuthenticationFailed):
    """The broker does not take the SASL mechanism; the text says which it takes."""


class Introduced(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker told: its versions, its finalized features, and how long the login holds (0: for ever)."""

    address: str
    versions: Mapping[int, tuple[int, int]] = {}
    features: Mapping[str, int] = {}
    session_lifetime_ms: int = 0

    def version(self, api_key: int, at_most: int | None = None) -> int:
        """The newest version of an API that both sides know, not above `at_most`."""
        ours = apis.codec(api_key).VERSIONS
        first, last = self.versions.get(api_key, (0, -1))
        newest = min(last, ours[-1] if at_most is None else min(ours[-1], at_most))
        if newest < max(first, ours[0]):
            raise UnsupportedApi(
                f"the broker at {self.address} has {apis.APIS[api_key].name} in versions {first} to {last}, "
                f"of which none is usable here: it may be too old or too new"
            )
        return newest


def introduction(address: str, sasl: SaslSettings | None) -> Generator[Ask, Any, Introduced]:
    introduced = yield from _versions(address)
    if sasl is None:
        return introduced
    lifetime_ms = yield from _login(introduced, sasl)
    return msgspec.structs.replace(introduced, session_lifetime_ms=lifetime_ms)


def _versions(address: str) -> Generator[Ask, Any, Introduced]:
    version = api_versions.VERSIONS[-1]
    response = yield Ask(apis.API_VERSIONS_KEY, version, _SOFTWARE)
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION:  # KIP-511: the answer tells what it knows
        known = {api.api_key: api.max_version for api in response.api_keys}
        version = min(version, known.get(apis.API_VERSIONS_KEY, 0))
        response = yield Ask(apis.API_VERSIONS_KEY, version, _SOFTWARE)
    if response.error_code:
        raise UnsupportedApi(
            f"the broker at {address} does not tell its versions: {error_name(response.error_code)}"
        )
    return Introduced(
        address=address,
        versions={api.api_key: (api.min_version, api.max_version) for api in response.api_keys},
        features={feature.name: feature.max_version_level for feature in response.finalized_features},
    )


def _login(introduced: Introduced, sasl: SaslSettings) -> Generator[Ask, Any, int]:
    address = introduced.address
    handshake = sasl_handshake.SaslHandshakeRequest(mechanism=sasl.mechanism)
    answer = yield Ask(sasl_handshake.API_KEY, 1, handshake)
    if answer.error_code:
        raise MechanismNotOffered(
            f"the broker at {address} does not take {sasl.mechanism}; it offers "
            f"{', '.join(answer.mechanisms) or 'nothing'}: set sasl.mechanism"
        )
    version = introduced.version(sasl_authenticate.API_KEY)
    exchange = sasl_exchange(sasl)
    sent = next(exchange)
    while True:
        request = sasl_authenticate.SaslAuthenticateRequest(auth_bytes=sent)
        answer = yield Ask(sasl_authenticate.API_KEY, version, request)
        if answer.error_code:
            reason = answer.error_message or error_name(answer.error_code)
            whom = f"user {sasl.username!r}" if sasl.username else "the token"
            raise AuthenticationFailed(f"the broker at {address} refused {whom}: {reason}")
        try:
            sent = exchange.send(answer.auth_bytes)
        except StopIteration:
            return int(answer.session_lifetime_ms)
