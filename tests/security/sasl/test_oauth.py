import base64
import hmac
import json
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.runtime.clock import ManualClock
from penstock.security.sasl.exchange import Granted, LoginRefused
from penstock.security.sasl.oauth import OAuthBearerExchange, TokenRules, parse_key_set, rules_of

NOW_S = 1_700_000_000
EC = ECKey.generate_key("P-256", {"kid": "ec"}, private=True)
RSA = RSAKey.generate_key(2048, {"kid": "rsa"}, private=True)
RULES = TokenRules(audiences=("penstock", "other"), issuer="https://issuer", clock_skew_seconds=30)


class Published:
    """The keys of an issuer."""

    def __init__(self, *keys: Any) -> None:
        self._set = KeySet(list(keys)) if keys else None
        self.looks = 0

    def key_set(self) -> Any:
        return self._set

    def request_refresh(self) -> None:
        self.looks += 1


def claims(**changes: Any) -> dict[str, Any]:
    made = {"sub": "alice", "iss": "https://issuer", "aud": "penstock", "iat": NOW_S, "exp": NOW_S + 60}
    return {name: value for name, value in (made | changes).items() if value is not None}


def token(key: Any = EC, alg: str = "ES256", kid: str | None = "ec", **changes: Any) -> str:
    header = {"alg": alg} | ({"kid": kid} if kid else {})
    return jwt.encode(header, claims(**changes), key, algorithms=[alg])


def exchange(keys: Published | None = None, rules: TokenRules = RULES) -> OAuthBearerExchange:
    return OAuthBearerExchange(keys or Published(EC, RSA), rules, ManualClock(NOW_S * 1000))


def first(bearer: str, authorization: str = "", more: str = "") -> bytes:
    return f"n,{authorization},\x01auth=Bearer {bearer}\x01{more}\x01".encode()


def refused(bearer: str, keys: Published | None = None, rules: TokenRules = RULES) -> bool:
    """Whether the token is refused, which must give the one message for all invalid tokens."""
    trying = exchange(keys, rules)
    answer = None
    try:
        trying.step(first(bearer))
    except LoginRefused as refusal:
        answer = json.loads(str(refusal))
    assert answer == (None if trying.granted else {"status": "invalid_token"})
    return trying.granted is None


@pytest.mark.parametrize(
    ("key", "alg", "kid"), [(EC, "ES256", "ec"), (RSA, "RS256", "rsa"), (RSA, "PS512", "rsa")]
)
def test_a_valid_token_is_accepted_until_it_expires(key: Any, alg: str, kid: str) -> None:
    trying = exchange()
    assert trying.step(first(token(key, alg, kid))) == b""
    assert trying.granted == Granted(user="alice", expires_at_ms=(NOW_S + 60) * 1000)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": ["x", "other"]},
        {"exp": NOW_S - 20},  # within the clock skew
        {"nbf": NOW_S + 20},
        {"exp": NOW_S + 60.5},
    ],
)
def test_a_token_within_the_rules_is_accepted(changes: dict[str, Any]) -> None:
    assert not refused(token(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW_S - 31},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"nbf": NOW_S + 31},
        {"iat": None},
        {"iss": "https://another"},
        {"iss": None},
        {"aud": "elsewhere"},
        {"aud": ["elsewhere"]},
        {"aud": None},
        {"aud": 7},
        {"aud": [{"penstock": 1}]},
        {"sub": None},
        {"sub": "  "},
        {"sub": 7},
    ],
)
def test_a_token_outside_the_rules_is_refused(changes: dict[str, Any]) -> None:
    assert refused(token(**changes))


def test_a_token_of_an_unpublished_key_is_refused_and_the_keys_are_refreshed() -> None:
    keys = Published(RSA)
    assert refused(token(), keys)
    assert keys.looks == 1


def test_a_token_signed_by_another_key_of_the_same_name_is_refused() -> None:
    assert refused(token(ECKey.generate_key("P-256", {"kid": "ec"}, private=True)))


def test_a_modified_token_is_refused() -> None:
    head, body, signature = token().split(".")
    assert refused(f"{head}.{body[:-4]}AAAA.{signature}")
    assert refused(f"{head}.{body}.{signature[:-6]}AAAAAA")
    assert refused(f"{head}.{body}.")
    assert refused("no-token")


def test_a_token_without_a_signature_or_with_a_shared_secret_is_refused() -> None:
    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    body = part(json.dumps(claims()).encode())
    unsigned = part(json.dumps({"alg": "none"}).encode())
    assert refused(f"{unsigned}.{body}.")
    # The public key, used as if it were a shared secret.
    signed = f"{part(json.dumps({'alg': 'HS256', 'kid': 'ec'}).encode())}.{body}"
    signature = hmac.digest(EC.as_pem(private=False), signed.encode(), "sha256")
    assert refused(f"{signed}.{part(signature)}")


def test_an_algorithm_that_is_not_allowed_is_refused() -> None:
    assert refused(token(RSA, "RS256", "rsa"), rules=TokenRules(algorithms=("ES256",)))


def test_before_the_keys_are_known_every_token_is_refused() -> None:
    assert refused(token(), Published())


def test_another_claim_can_hold_the_user() -> None:
    trying = exchange(rules=TokenRules(user_claim="preferred_username"))
    trying.step(first(token(preferred_username="carol")))
    assert trying.granted is not None
    assert trying.granted.user == "carol"


def test_an_authorization_id_of_another_user_is_refused() -> None:
    assert exchange().step(first(token(), "a=alice")) == b""
    with pytest.raises(LoginRefused):
        exchange().step(first(token(), "a=bob"))


def test_extensions_of_the_first_message_are_ignored() -> None:
    assert exchange().step(first(token(), more="traceId=7\x01")) == b""


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic eDp5\x01\x01",
        b"y,,\x01auth=Bearer x\x01\x01",
        b"\xff" * 40,
    ],
)
def test_a_malformed_first_message_is_refused(message: bytes) -> None:
    with pytest.raises(LoginRefused):
        exchange().step(message)


def test_insecure_algorithms_cannot_be_allowed() -> None:
    for name in ("none", "HS256"):
        with pytest.raises(ConfigError, match="only signatures by public keys"):
            rules_of(BrokerConfig({"penstock.sasl.oauthbearer.algorithms": name}), "PLAINTEXT")


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"keys": []}', b'{"keys": [{"kty": "EC"}]}', b"\xff"])
def test_a_document_without_keys_is_refused_without_being_quoted(text: bytes) -> None:
    with pytest.raises(ValueError, match="not a set of keys"):
        parse_key_set(text)
