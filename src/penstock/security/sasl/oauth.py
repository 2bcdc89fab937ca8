"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): a signed token instead of a password.

The token is a JWT. Its signature must be by one of the issuer's published keys and by an algorithm that is allowed,
all of which are of public keys: `none` and shared secrets never are. A token that is not good is refused at once; RFC
7628 would have the broker send the error as a challenge first, which some clients take for a success.
"""

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.settings import security
from penstock.runtime.clock import Clock
from penstock.security.sasl.exchange import Granted, LoginRefused, invalid_credentials

log = logging.getLogger(__name__)

NAME = "OAUTHBEARER"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_NOT_GOOD = '{"status":"invalid_token"}'
_FIRST = re.compile(
    rb"n,(?:a=(?P<authorization>(?:[^=,\x00]|=2C|=3D)+))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_BEARER = re.compile(rb"bearer +([-_~+/.a-zA-Z0-9]+=*)", re.IGNORECASE)


class TokenRefused(Exception):
    """Why a token is not good; for this broker's log at debug level, and without the token."""


class Keys(Protocol):
    """The issuer's keys, as last seen."""

    def key_set(self) -> Any:
        """A `joserfc` KeySet, or None while there is none."""
        ...

    def request_refresh(self) -> None:
        """A token named a key that is not among them."""
        ...


class TokenRules(msgspec.Struct, frozen=True, kw_only=True):
    user_claim: str = "sub"
    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    clock_skew_seconds: int = 0
    algorithms: tuple[str, ...] = ALGORITHMS


def rules_of(config: BrokerConfig, listener: str) -> TokenRules:
    """Raises `ConfigError` for an algorithm that cannot prove anything."""
    algorithms = config.for_listener(listener, security.SASL_OAUTHBEARER_ALGORITHMS, NAME)
    if strange := [name for name in algorithms if name not in ALGORITHMS]:
        raise ConfigError(
            f"penstock.sasl.oauthbearer.algorithms names {', '.join(strange)}; only signatures by public keys "
            f"are taken: {', '.join(ALGORITHMS)}"
        )
    return TokenRules(
        user_claim=config.for_listener(listener, security.SASL_OAUTHBEARER_SUB_CLAIM_NAME, NAME),
        audiences=config.for_listener(listener, security.SASL_OAUTHBEARER_EXPECTED_AUDIENCE, NAME),
        issuer=config.for_listener(listener, security.SASL_OAUTHBEARER_EXPECTED_ISSUER, NAME),
        clock_skew_seconds=config.for_listener(listener, security.SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS, NAME),
        algorithms=algorithms,
    )


class OAuthBearerExchange:
    def __init__(self, keys: Keys, rules: TokenRules, clock: Clock) -> None:
        self._keys = keys
        self._rules = rules
        self._clock = clock
        self.granted: Granted | None = None

    def step(self, received: bytes) -> bytes:
        authorization_id, token = _first_message(received)
        try:
            granted = check_token(token, self._keys, self._rules, self._clock.now_ms())
        except TokenRefused as refusal:
            log.debug("Refused a token: %s", refusal)
            raise LoginRefused(_NOT_GOOD) from None
        if authorization_id not in ("", granted.user):
            raise invalid_credentials(NAME)
        self.granted = granted
        return b""


def _first_message(received: bytes) -> tuple[str, bytes]:
    """The authorization id and the token. Raises `LoginRefused`."""
    parts = _FIRST.fullmatch(received)
    if parts is None:
        raise invalid_credentials(NAME)
    pairs = dict(pair.split(b"=", 1) for pair in parts["pairs"].split(b"\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get(b"auth", b""))
    if bearer is None:
        raise invalid_credentials(NAME)
    name = (parts["authorization"] or b"").decode(errors="replace")
    return name.replace("=2C", ",").replace("=3D", "="), bearer[1]


def check_token(token: bytes, keys: Keys, rules: TokenRules, now_ms: int) -> Granted:
    """The user of the token. Raises `TokenRefused`."""
    from joserfc import jwt  # noqa: PLC0415  costs a tenth of a second, and few brokers need it
    from joserfc.errors import InvalidKeyIdError, JoseError  # noqa: PLC0415

    key_set = keys.key_set()
    if key_set is None:
        raise TokenRefused("the issuer's keys are not known yet")
    try:
        claims = jwt.decode(token, key_set, algorithms=list(rules.algorithms)).claims
    except InvalidKeyIdError:
        keys.request_refresh()
        raise TokenRefused("it names a key that the issuer does not publish") from None
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise TokenRefused(type(error).__name__) from None
    return _check_claims(claims, rules, now_ms)


def _check_claims(claims: Mapping[str, Any], rules: TokenRules, now_ms: int) -> Granted:
    skew_ms = rules.clock_skew_seconds * 1000
    expires_at_ms = _time_ms(claims, "exp")
    if expires_at_ms is None:
        raise TokenRefused("it has no expiry")
    if expires_at_ms + skew_ms <= now_ms:
        raise TokenRefused("it has expired")
    if (valid_from_ms := _time_ms(claims, "nbf")) is not None and valid_from_ms - skew_ms > now_ms:
        raise TokenRefused("it is not valid yet")
    if _time_ms(claims, "iat") is None:
        raise TokenRefused("it has no time of issue")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise TokenRefused("it is of another issuer")
    audience = claims.get("aud")
    named = audience if isinstance(audience, list) else [audience]
    if rules.audiences and not any(each in rules.audiences for each in named):
        raise TokenRefused("it is for another audience")
    user = claims.get(rules.user_claim)
    if not isinstance(user, str) or not user.strip():
        raise TokenRefused(f"it has no user in {rules.user_claim}")
    return Granted(user=user.strip(), expires_at_ms=expires_at_ms)


def _time_ms(claims: Mapping[str, Any], name: str) -> int | None:
    seconds = claims.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 2**53:
        raise TokenRefused(f"{name} is not a time")
    return int(seconds * 1000)


def parse_key_set(text: bytes) -> Any:
    """A JWKS document as a KeySet. Raises `ValueError` when it is none, without its content."""
    from joserfc.errors import JoseError  # noqa: PLC0415
    from joserfc.jwk import KeySet  # noqa: PLC0415

    try:
        return KeySet.import_key_set(json.loads(text))
    except (JoseError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"it is not a set of keys (JWKS): {type(error).__name__}") from None
