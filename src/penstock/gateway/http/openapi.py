"""`/openapi.json`: what is offered, in OpenAPI 3.1. Made of the `PATHS` of the parts that are served."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from aiohttp import web

from penstock.gateway.http.app import Paths, json_response
from penstock.gateway.http.problems import CONTENT_TYPE
from penstock.gateway.http.read import ISOLATIONS
from penstock.gateway.http.record_forms import FORMS

PATHS: Final[Paths] = {
    "/openapi.json": {
        "get": {
            "operationId": "openapi",
            "summary": "This document",
            "security": [],
            "responses": {
                "200": {
                    "description": "An OpenAPI 3.1 document",
                    "content": {"application/json": {"schema": {"type": "object"}}},
                }
            },
        }
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
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": "1",
            "description": "Health, metrics and HTTP gateways of a broker. Requests act as the user they name.",
        },
        "paths": paths,
        "components": {
            "parameters": _PARAMETERS,
            "schemas": _SCHEMAS,
            "responses": {
                "Problem": {
                    "description": "What went wrong, and what to do next (RFC 9457)",
                    "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
            },
            "securitySchemes": {
                "password": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"password": []}, {"token": []}],
    }


def _query(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": dict(schema)}


def _path(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string"},
    }


_STRING: Final = {"type": "string"}
_PARAMETERS: Final[Mapping[str, Any]] = {
    "topic": _path("topic", "The topic's name"),
    "group": _path("group", "The consumer group's name"),
    "partition": _query("partition", "Partitions to read, like 0,1; all when left out", _STRING),
    "partitions": _query("partitions", "The same as `partition`", _STRING),
    "offset": _query(
        "offset",
        "Where to begin: an offset, earliest, latest, or -n for the last n records of each partition",
        {"type": "string", "default": "earliest"},
    ),
    "time": _query(
        "time", "Begin with the first record that is not older: milliseconds since 1970 or ISO 8601", _STRING
    ),
    "positions": _query(
        "positions",
        "Where to begin in each partition: the `next` of an earlier answer, like 0:17,1:3",
        _STRING,
    ),
    "limit": _query(
        "limit",
        "How many records at most",
        {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 100},
    ),
    "timeout_ms": _query(
        "timeout_ms",
        "How long to wait when there is no record yet",
        {"type": "integer", "minimum": 0, "maximum": 30_000, "default": 0},
    ),
    "isolation": _query(
        "isolation",
        "read_committed leaves out records of transactions that are open or were aborted",
        {"type": "string", "enum": list(ISOLATIONS), "default": ISOLATIONS[0]},
    ),
    "format": _query(
        "format",
        "How keys and values are shown; what cannot be shown so comes in base64",
        {"type": "string", "enum": list(FORMS), "default": FORMS[0]},
    ),
    "from": _query(
        "from",
        "Where to begin: start (or earliest), end (or latest), an offset, -n for the last n records of each "
        "partition, -15m for 15 minutes ago, or a time as ISO 8601 or milliseconds since 1970. A stream begins at the "
        "end without it",
        _STRING,
    ),
    "last_event_id": _query("last_event_id", "The same as the header Last-Event-ID", _STRING),
    "Last-Event-ID": {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the last event that was seen; wins over `from`",
        "schema": _STRING,
    },
    "topics": _query("topics", "Topics to consume, like a,b", _STRING) | {"required": True},
    "reset": _query(
        "reset",
        "Where to begin in a partition in which the group has no offset",
        {"type": "string", "enum": ["latest", "earliest", "none"], "default": "latest"},
    ),
    "window": _query(
        "window",
        "How many records are sent before some of them are committed or acknowledged",
        {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 1_000},
    ),
    "max_processing_ms": _query(
        "max_processing_ms",
        "After so long with a full window and no acknowledgement the group removes this member",
        {"type": "integer", "minimum": 1, "maximum": 3_600_000, "default": 300_000},
    ),
}

_BYTES: Final = "A string stands for its UTF-8 bytes, null for none, anything else for its own JSON text"
_BASE64: Final = {"type": "string", "contentEncoding": "base64"}
_SCHEMAS: Final[Mapping[str, Any]] = {
    "Status": {
        "type": "object",
        "properties": {"status": _STRING, "reasons": {"type": "array", "items": _STRING}},
        "required": ["status"],
    },
    "Problem": {
        "type": "object",
        "properties": {
            "type": {"type": "string", "description": "urn:kafka:error:NAME, or about:blank"},
            "title": _STRING,
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "What happened to what, and what to do next"},
            "kafka_error": {"type": "string", "description": "Kafka's name of the error"},
        },
        "required": ["type", "title", "status", "detail"],
    },
    "NewRecords": {
        "type": "object",
        "properties": {
            "records": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/NewRecord"}}
        },
        "required": ["records"],
        "additionalProperties": False,
    },
    "NewRecord": {
        "type": "object",
        "properties": {
            "key": {"description": _BYTES},
            "key_base64": _BASE64,
            "value": {"description": _BYTES},
            "value_base64": _BASE64,
            "headers": {
                "oneOf": [
                    {"type": "array", "items": {"$ref": "#/components/schemas/Header"}},
                    {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
                ]
            },
            "partition": {"type": ["integer", "null"], "minimum": 0},
            "timestamp": {"type": ["integer", "null"], "description": "Milliseconds; now when left out"},
        },
        "additionalProperties": False,
    },
    "Header": {
        "type": "object",
        "properties": {"name": _STRING, "value": {"description": _BYTES}, "value_base64": _BASE64},
        "required": ["name"],
        "additionalProperties": False,
    },
    "Produced": {
        "type": "object",
        "properties": {
            "records": {
                "type": "array",
                "description": "One for each record that was sent, in their order",
                "items": {
                    "type": "object",
                    "properties": {
                        "partition": {"type": "integer"},
                        "offset": {"type": "integer"},
                        "timestamp": {"type": "integer"},
                        "error": {"$ref": "#/components/schemas/Problem"},
                    },
                },
            }
        },
        "required": ["records"],
    },
    "Record": {
        "type": "object",
        "properties": {
            "topic": _STRING,
            "partition": {"type": "integer"},
            "offset": {"type": "integer"},
            "timestamp": {"type": "integer", "description": "Milliseconds since 1970"},
            "key": {},
            "key_base64": _BASE64,
            "value": {},
            "value_base64": _BASE64,
            "headers": {"type": "array", "items": {"$ref": "#/components/schemas/Header"}},
        },
        "required": ["topic", "partition", "offset", "timestamp"],
    },
    "Records": {
        "type": "object",
        "properties": {
            "records": {"type": "array", "items": {"$ref": "#/components/schemas/Record"}},
            "next": {"type": "string", "description": "The next positions, for `positions`"},
            "high_watermarks": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["records", "next", "high_watermarks"],
    },
}
