"""Protection of the admin port against other web pages. Pure decisions about request headers.

- DNS rebinding: the Host header must be an address, `localhost`, or one of the names of this broker. Clients do not
  always identify themselves as browsers, so this applies to all of them.
- Cross-site requests: an Origin header, which browsers send with every WebSocket and every POST, must name this server,
  and a body must be JSON, which other sites may not send without a CORS preflight. No CORS header is ever sent.
- Cost before the login: a compressed body is rejected, since a small one can inflate to gigabytes, and so is one whose
  Content-Length is over the limit. Neither body is read.
"""

from collections.abc import Mapping

from penstock.console.broker_errors import FORBIDDEN, TOO_LARGE, UNSUPPORTED_MEDIA_TYPE
from penstock.console.guard import host_is_known, is_compressed, is_json, other_origin
from penstock.gateway.http.problems import Problem

BODY_BYTES_MAX = 8 * 1024 * 1024

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def check(method: str, headers: Mapping[str, str], hosts: frozenset[str]) -> None:
    """Raise `Problem` to reject the request. `hosts` are the allowed names, * for any."""
    host = headers.get("Host", "")
    if not host_is_known(host, hosts):
        raise Problem(
            FORBIDDEN,
            f"This port does not accept requests for host {host!r}: allow it with penstock.admin.allowed.hosts.",
        )
    if (origin := other_origin(headers)) is not None:
        raise Problem(FORBIDDEN, f"A page of {origin} may not send requests to this port.")
    if method not in _SAFE_METHODS and not is_json(headers):
        raise Problem(
            UNSUPPORTED_MEDIA_TYPE, "Only JSON is accepted: send it with Content-Type: application/json."
        )
    if is_compressed(headers):
        raise Problem(
            UNSUPPORTED_MEDIA_TYPE,
            "Compressed requests are not accepted: send the body without Content-Encoding.",
        )
    announced_bytes = headers.get("Content-Length", "0")  # the HTTP parser lets only digits through
    if announced_bytes.isdecimal() and int(announced_bytes) > BODY_BYTES_MAX:
        raise too_large()


def too_large() -> Problem:
    return Problem(
        TOO_LARGE, f"The request body may have at most {BODY_BYTES_MAX} bytes: send fewer records at a time."
    )
