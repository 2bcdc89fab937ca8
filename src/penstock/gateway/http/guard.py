"""Protection of the admin port against other web pages. Pure decisions about request headers.

- A page of another site must not reach it under a name of its own (DNS rebinding): the Host must be an address,
  `localhost`, or one of the names that belong to this broker. A browser does not always say that it is one, so this
  holds for everybody.
- A page of another site must not do anything in the user's name: where the browser names the page's origin, which it
  does with every WebSocket and every POST, it must be this one; and what is posted must be JSON, which other sites may
  not send without being asked first. No CORS header is ever sent.
- A request must not cost much before the sender has logged in: a compressed body is refused, since a small one can
  inflate to gigabytes, and so is one whose announced length is over the limit. Neither body is read.
"""

from collections.abc import Mapping

from penstock.console.broker_errors import FORBIDDEN, TOO_LARGE, UNSUPPORTED_MEDIA_TYPE
from penstock.console.guard import host_is_known, is_compressed, is_json, other_origin
from penstock.gateway.http.problems import Problem

BODY_BYTES_MAX = 8 * 1024 * 1024

_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def check(method: str, headers: Mapping[str, str], hosts: frozenset[str]) -> None:
    """Raise `Problem` when the request is not to be served. `hosts` are the names allowed, * for any."""
    host = headers.get("Host", "")
    if not host_is_known(host, hosts):
        raise Problem(
            FORBIDDEN,
            f"This port does not answer under the name {host!r}: allow it with penstock.admin.allowed.hosts.",
        )
    if (origin := other_origin(headers)) is not None:
        raise Problem(FORBIDDEN, f"A page of {origin} may not send requests to this port.")
    if method not in _READING and not is_json(headers):
        raise Problem(
            UNSUPPORTED_MEDIA_TYPE, "Only JSON is taken here: send it with Content-Type: application/json."
        )
    if is_compressed(headers):
        raise Problem(
            UNSUPPORTED_MEDIA_TYPE,
            "Compressed requests are not taken here: send the body without Content-Encoding.",
        )
    announced_bytes = headers.get("Content-Length", "0")  # the HTTP parser lets only digits through
    if announced_bytes.isdecimal() and int(announced_bytes) > BODY_BYTES_MAX:
        raise too_large()


def too_large() -> Problem:
    return Problem(TOO_LARGE, f"A request may have {BODY_BYTES_MAX} bytes: send fewer records at a time.")
