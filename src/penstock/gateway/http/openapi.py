"""`/openapi.json`: the OpenAPI 3.1 document, built from the `PATHS` of the parts that are served."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from penstock.gateway.http.app import Paths, content, json_response, operation, reference
from penstock.gateway.http.problems import CONTENT_TYPE
from penstock.gateway.http.read import ISOLATIONS
from penstock.gateway.http.record_forms import FORMS

PATHS: Final[Paths] = {
    "/openapi.json": {
        "get": operation(
            "openapi",
            "This document",
            {"200": content("An OpenAPI 3.1 document", {"type": "object"})},
            is_open=True,
        )
    }
}


def routes(app: web.Application, parts: Iterable[Paths]) -> None:
    """`parts` are the paths of the other parts of the application."""
    document = described([*parts, PATHS])

    async def openapi(_request: web.Request) -> web.Response:
        return json_response(document)

    app.router.add_get("/openapi.json", openapi)


def described(parts: Iterable[Paths]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for part in parts:
        for path, operations in part.items():
            paths.setdefault(path, {}).update(operations)
    problem = content(
        "What went wrong, and what to do next (RFC 9457)", reference("schemas", "Problem"), CONTENT_TYPE
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": "1",
            "description": "Health, metrics and HTTP gateways of a broker. Requests act as the user who logs in.",
        },
        "paths": paths,
        "components": {
            "parameters": _PARAMETERS,
            "schemas": _SCHEMAS,
            "responses": {"Problem": problem},
            "securitySchemes": {
                "password": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"password": []}, {"token": []}],
    }


def _integer(least: int, most: int, default: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


def _one_of(choices: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(choices), "default": choices[0]}


def _object(properties: Mapping[str, Any], *required: str, is_closed: bool = False) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False} if is_closed else schema


def _list(items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


_STRING: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}
_QUERY: Final = {
    "partition": (_STRING, "Partitions to read, like 0,1; all by default"),
    "partitions": (_STRING, "The same as `partition`"),
    "offset": (
        {"type": "string", "default": "earliest"},
        "Start at: an offset, earliest, latest, or -n for the last n records of each partition",
    ),
    "time": (_STRING, "Start at the first record that is not older: milliseconds since 1970 or ISO 8601"),
    "positions": (
        _STRING,
        "Start position of each partition: the `next` of an earlier answer, like 0:17,1:3",
    ),
    "limit": (_integer(1, 10_000, 100), "Maximum number of records"),
    "timeout_ms": (_integer(0, 30_000, 0), "Time to wait if there is no record yet"),
    "isolation": (
        _one_of(ISOLATIONS),
        "read_committed omits records of open and aborted transactions",
    ),
    "format": (_one_of(FORMS), "Format of keys and values; bytes that do not fit it are given in base64"),
    "from": (
        _STRING,
        (
            "Start at: start (or earliest), end (or latest), an offset, -n for the last n records of each "
            "partition, -15m for 15 minutes ago, or a time as ISO 8601 or milliseconds since 1970. A stream starts at "
            "the end by default"
        ),
    ),
    "last_event_id": (_STRING, "The same as the header Last-Event-ID"),
    "topics": (_STRING, "Topics to consume, like a,b"),
    "reset": (
        _one_of(("latest", "earliest", "none")),
        "Start position in a partition without a committed offset",
    ),
    "window": (
        _integer(1, 10_000, 1_000),
        "Maximum number of records that are sent and not yet committed or acknowledged",
    ),
    "max_processing_ms": (
        _integer(1, 3_600_000, 300_000),
        "The group removes this member when its window is full for this long without an acknowledgement",
    ),
}


def _parameter(place: str, name: str, schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    parameter = {"name": name, "in": place, "description": description, "schema": schema}
    return parameter | {"required": True} if place == "path" or name == "topics" else parameter


_PARAMETERS: Final[Mapping[str, Any]] = {
    "topic": _parameter("path", "topic", _STRING, "The topic's name"),
    "group": _parameter("path", "group", _STRING, "The consumer group's name"),
    "Last-Event-ID": _parameter(
        "header", "Last-Event-ID", _STRING, "The id of the last event received; overrides `from`"
    ),
    **{name: _parameter("query", name, *rest) for name, rest in _QUERY.items()},
}

_BYTES: Final = {
    "description": "A string means its UTF-8 bytes, null means null, any other value means its JSON text"
}
_BASE64: Final = {"type": "string", "contentEncoding": "base64"}
_HEADERS: Final = _list(reference("schemas", "Header"))
_SCHEMAS: Final[Mapping[str, Any]] = {
    "Status": _object({"status": _STRING, "reasons": _list(_STRING)}, "status"),
    "Problem": _object(
        {
            "type": {"type": "string", "description": "urn:kafka:error:NAME, or about:blank"},
            "title": _STRING,
            "status": _INTEGER,
            "detail": {"type": "string", "description": "What happened to what, and what to do next"},
            "kafka_error": {"type": "string", "description": "Kafka's name of the error"},
        },
        *("type", "title", "status", "detail"),
    ),
    "NewRecords": _object(
        {"records": _list(reference("schemas", "NewRecord"), minItems=1)}, "records", is_closed=True
    ),
    "NewRecord": _object(
        {
            "key": _BYTES,
            "key_base64": _BASE64,
            "value": _BYTES,
            "value_base64": _BASE64,
            "headers": {
                "oneOf": [
                    _HEADERS,
                    {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
                ]
            },
            "partition": {"type": ["integer", "null"], "minimum": 0},
            "timestamp": {
                "type": ["integer", "null"],
                "description": "Milliseconds since 1970; now by default",
            },
        },
        is_closed=True,
    ),
    "Header": _object({"name": _STRING, "value": _BYTES, "value_base64": _BASE64}, "name", is_closed=True),
    "Produced": _object(
        {
            "records": _list(
                _object(
                    {
                        "partition": _INTEGER,
                        "offset": _INTEGER,
                        "timestamp": _INTEGER,
                        "error": reference("schemas", "Problem"),
                    }
                ),
                description="One for each record, in the order of the request",
            )
        },
        "records",
    ),
    "Record": _object(
        {
            "topic": _STRING,
            "partition": _INTEGER,
            "offset": _INTEGER,
            "timestamp": {"type": "integer", "description": "Milliseconds since 1970"},
            "key": {},
            "key_base64": _BASE64,
            "value": {},
            "value_base64": _BASE64,
            "headers": _HEADERS,
        },
        *("topic", "partition", "offset", "timestamp"),
    ),
    "Records": _object(
        {
            "records": _list(reference("schemas", "Record")),
            "next": {"type": "string", "description": "The next positions, for `positions`"},
            "high_watermarks": {"type": "object", "additionalProperties": _INTEGER},
        },
        *("records", "next", "high_watermarks"),
    ),
}
