"""Fetches schemas by id from a registry with Confluent's HTTP interface."""

import base64
import functools
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import msgspec

_TIMEOUT_SECONDS = 10.0
_REFERENCES_MAX = 100


class RegistryUnreachable(Exception):
    """The registry gave no usable answer. The task fails and is retried; the records are not rejected."""


class RegisteredSchema(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    references: tuple[str, ...] = ()


@functools.lru_cache(maxsize=1024)  # an id never changes its schema
def fetch_schema(url: str, schema_id: int) -> RegisteredSchema | None:
    response = _get(url, f"/schemas/ids/{schema_id}")
    if response is None:
        return None
    texts: dict[tuple[str, int], str] = {}
    _collect_references(url, response, texts)
    return RegisteredSchema(text=response["schema"], references=tuple(texts.values()))


def _collect_references(url: str, response: dict[str, Any], texts: dict[tuple[str, int], str]) -> None:
    """Collect references depth first, so that each comes before the schemas that use it."""
    for reference in response.get("references") or ():
        subject, version = reference["subject"], reference["version"]
        if (subject, version) in texts or len(texts) >= _REFERENCES_MAX:
            continue
        referred = _get(url, f"/subjects/{urllib.parse.quote(subject, safe='')}/versions/{version}")
        if referred is None:
            raise RegistryUnreachable(
                f"{url} has no version {version} of {subject}, to which a schema refers"
            )
        _collect_references(url, referred, texts)
        texts[subject, version] = referred["schema"]


def _get(url: str, path: str) -> dict[str, Any] | None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise RegistryUnreachable(f"{url} is not the address of a schema registry: write http://HOST:PORT")
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked
        f"{parts.scheme}://{host}{parts.path.rstrip('/')}{path}"
    )
    if parts.username is not None:
        user = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
            found: dict[str, Any] = json.load(response)
            return found
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise RegistryUnreachable(
            f"the schema registry at {host} responded with {error.code} to {path}"
        ) from None
    except (OSError, ValueError) as error:
        raise RegistryUnreachable(f"the schema registry at {host} does not respond: {error}") from None
