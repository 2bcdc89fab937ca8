"""Protection of the console against other web pages. Pure decisions about request headers; the admin port uses some
of them too.

- DNS rebinding: the Host header must be an address, `localhost` or an allowed name.
- Cross-site requests: another site may link to the console and no more. A request that changes something must be JSON,
  and the browser must report it as same-origin.
- Script injection: scripts are loaded from this server's files only.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_OWN_SITE: Final = frozenset({"same-origin", "none"})


def rejection_reason(method: str, headers: Mapping[str, str], allowed_hosts: frozenset[str]) -> str | None:
    """Return the reason to reject a request; None if it may be served."""
    host = headers.get("Host", "")
    if not host_is_known(host, allowed_hosts):
        return f"This console does not accept requests for host {host!r}. Allow it with --allow-host."
    is_own = headers.get("Sec-Fetch-Site", "none") in _OWN_SITE
    is_link = method in _SAFE_METHODS and headers.get("Sec-Fetch-Mode") == "navigate"
    if not is_own and not is_link:
        return "Another site may not send requests to this console."
    if method in _SAFE_METHODS:
        return None
    if (origin := other_origin(headers)) is not None:
        return f"A page of {origin} may not send requests to this console."
    if not is_json(headers):
        return "Only JSON is accepted (Content-Type: application/json)."
    return None


def host_is_known(host: str, allowed_hosts: frozenset[str]) -> bool:
    """Whether a Host header is an address, `localhost` or a name that is allowed; * allows any."""
    name = host_name(host)
    if name == "localhost" or name in allowed_hosts or "*" in allowed_hosts:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def other_origin(headers: Mapping[str, str]) -> str | None:
    """The origin of the page that sends the request, unless it is this server or unknown."""
    origin = headers.get("Origin")
    if origin is None or origin.partition("://")[2].lower() == headers.get("Host", "").lower():
        return None
    return origin


def is_json(headers: Mapping[str, str]) -> bool:
    """Whether the body is declared as JSON, which other sites may not send without a CORS preflight."""
    return headers.get("Content-Type", "").partition(";")[0].strip().lower() == "application/json"


def is_compressed(headers: Mapping[str, str]) -> bool:
    """Whether the body would have to be inflated before it can be read."""
    return headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity")


def host_name(host: str) -> str:
    """The name in a Host header, without the port and the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
