"""A client for schema registries with Confluent's HTTP interface."""

import base64
import functools
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"

_TIMEOUT_SECONDS = 10.0
_REFERENCES_MAX = 100
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_REFUSED = (409, 422)  # incompatible, invalid


class RegistryUnreachable(Exception):
    """The registry gave no usable answer. The task fails and is retried; the records are not rejected."""


class SchemaRefused(Exception):
    """The registry does not accept the schema: it is incompatible with earlier ones, or invalid."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A schema that another one uses, under the name by which it does."""

    name: str
    subject: str
    version: int


class RegisteredSchema(msgspec.Struct, frozen=True, kw_only=True):
    """A schema in a registry, or one that is not there yet (`schema_id` is 0)."""

    text: str
    kind: str = AVRO
    references: tuple[str, ...] = ()  # the texts, each before those that use it
    reference_names: tuple[str, ...] = ()  # of the texts
    names: tuple[Reference, ...] = ()  # the direct references, as the registry has them
    schema_id: int = 0


@functools.lru_cache(maxsize=1024)  # an id never changes its schema
def fetch_schema(url: str, schema_id: int, *, serialized: bool = False) -> RegisteredSchema | None:
    """`serialized`: a Protobuf schema as a FileDescriptorProto in base64, and not as its source text."""
    response = _request(url, f"/schemas/ids/{schema_id}{_format(serialized=serialized)}")
    return None if response is None else _registered(url, response, schema_id, serialized=serialized)


def fetch_newest(url: str, subject: str, *, serialized: bool = False) -> RegisteredSchema | None:
    response = _request(url, f"/subjects/{_quoted(subject)}/versions/latest{_format(serialized=serialized)}")
    return None if response is None else _registered(url, response, response["id"], serialized=serialized)


def look_up_schema(url: str, subject: str, schema: RegisteredSchema) -> tuple[int, int] | None:
    """Return the id and the version under which the subject has this schema."""
    response = _request(url, f"/subjects/{_quoted(subject)}", _body(schema))
    return None if response is None else (int(response["id"]), int(response["version"]))


def register_schema(url: str, subject: str, schema: RegisteredSchema) -> int:
    response = _request(url, f"/subjects/{_quoted(subject)}/versions", _body(schema))
    if response is None:
        raise RegistryUnreachable(f"{host_of(url)} is no schema registry: it has no subjects")
    return int(response["id"])


def find_incompatibilities(url: str, subject: str, schema: RegisteredSchema) -> list[str]:
    """Return why the subject would not accept the schema."""
    path = f"/compatibility/subjects/{_quoted(subject)}/versions/latest?verbose=true"
    response = _request(url, path, _body(schema))
    if response is None or response.get("is_compatible"):  # None: the subject is new
        return []
    return [str(each) for each in response.get("messages") or ()] or ["the registry gives no reason"]


def host_of(url: str) -> str:
    """Return the address without a password."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]


def _format(*, serialized: bool) -> str:
    return "?format=serialized" if serialized else ""


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _body(schema: RegisteredSchema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text, "schemaType": schema.kind}
    if schema.names:
        body["references"] = [msgspec.to_builtins(each) for each in schema.names]
    return body


def _registered(
    url: str, response: Mapping[str, Any], schema_id: int, *, serialized: bool
) -> RegisteredSchema:
    texts: dict[tuple[str, int], tuple[str, str]] = {}
    direct = response.get("references") or ()
    _collect_references(url, direct, texts, serialized=serialized)
    return RegisteredSchema(
        text=response["schema"],
        kind=response.get("schemaType") or AVRO,
        references=tuple(text for _, text in texts.values()),
        reference_names=tuple(name for name, _ in texts.values()),
        names=tuple(msgspec.convert(each, Reference) for each in direct),
        schema_id=schema_id,
    )


def _collect_references(
    url: str,
    references: Sequence[Mapping[str, Any]],
    texts: dict[tuple[str, int], tuple[str, str]],
    *,
    serialized: bool,
) -> None:
    """Collect references depth first, so that each comes before the schemas that use it."""
    for reference in references:
        subject, version = reference["subject"], reference["version"]
        if (subject, version) in texts or len(texts) >= _REFERENCES_MAX:
            continue
        path = f"/subjects/{_quoted(subject)}/versions/{version}{_format(serialized=serialized)}"
        referred = _request(url, path)
        if referred is None:
            raise RegistryUnreachable(
                f"{host_of(url)} has no version {version} of {subject}, to which a schema refers"
            )
        _collect_references(url, referred.get("references") or (), texts, serialized=serialized)
        texts[subject, version] = reference["name"], referred["schema"]


def _request(url: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Return the response, or None if there is no such thing."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise RegistryUnreachable(f"{url} is not the address of a schema registry: write http://HOST:PORT")
    host = host_of(url)
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked
        f"{parts.scheme}://{host}{parts.path.rstrip('/')}{path}",
        data=None if body is None else json.dumps(body).encode(),
    )
    if body is not None:
        request.add_header("Content-Type", _MEDIA_TYPE)
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
        if error.code in _REFUSED:
            subject = urllib.parse.unquote(path.split("/")[2].partition("?")[0])
            raise SchemaRefused(
                f"the schema registry at {host} refuses the schema for {subject}: {_message(error)}"
            ) from None
        raise RegistryUnreachable(
            f"the schema registry at {host} responded with {error.code} to {path}"
        ) from None
    except (OSError, ValueError) as error:
        raise RegistryUnreachable(f"the schema registry at {host} does not respond: {error}") from None


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return " ".join(str(json.load(error)["message"]).split())
    except (OSError, ValueError, KeyError, TypeError):
        return f"status {error.code}"
