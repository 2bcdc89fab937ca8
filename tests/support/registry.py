"""A schema registry in memory with the part of Confluent's HTTP interface that Penstock and confluent-kafka use.

Backward compatibility is checked for Avro records only: a new field needs a default. `make interop-debezium` has
tests with Apicurio's registry.
"""

import contextlib
import json
import re
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

Answer = tuple[int, Any]


class RegistryStub:
    def __init__(self) -> None:
        self.url = ""
        self.authorization: str | None = None  # what requests must have
        self.requests: list[str] = []
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    def add_schemas(self, texts: Mapping[int, str]) -> None:
        for schema_id, text in texts.items():
            self.schemas[schema_id] = {"schema": text}

    def add_version(self, subject: str, schema: dict[str, Any], schema_id: int = 0) -> int:
        found = next((known for known, each in self.schemas.items() if each == schema), 0)
        chosen = found or schema_id or max(self.schemas, default=0) + 1
        self.schemas[chosen] = schema
        versions = self.subjects.setdefault(subject, [])
        if chosen not in versions:
            versions.append(chosen)
        return chosen

    def answer(self, method: str, path: str, body: dict[str, Any] | None) -> Answer:
        with self._lock:
            self.requests.append(f"{method} {path}")
            for pattern, name in self._ROUTES.items():
                match = re.fullmatch(pattern, f"{method} {path.partition('?')[0]}")
                if match is not None:
                    parts = [urllib.parse.unquote(each) for each in match.groups()]
                    found: Answer = getattr(self, name)(*parts, *([] if body is None else [_schema_in(body)]))
                    return found
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    _ROUTES: ClassVar[Mapping[str, str]] = {
        r"GET /schemas/ids/(\d+)": "_by_id",
        r"GET /subjects/([^/]+)/versions/(latest|\d+)": "_version",
        r"GET /config/([^/]+)": "_config",
        r"POST /subjects/([^/]+)": "_look_up",
        r"POST /subjects/([^/]+)/versions": "_register",
        r"POST /compatibility/subjects/([^/]+)/versions/latest": "_compatibility",
    }

    def _by_id(self, number: str) -> Answer:
        found = self.schemas.get(int(number))
        return (404, {"error_code": 40403, "message": "Schema not found"}) if found is None else (200, found)

    def _version(self, subject: str, version: str) -> Answer:
        versions = self.subjects.get(subject, [])
        number = len(versions) if version == "latest" else int(version)
        if not 0 < number <= len(versions):
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        return 200, self._described(subject, versions[number - 1])

    def _described(self, subject: str, schema_id: int) -> dict[str, Any]:
        version = self.subjects[subject].index(schema_id) + 1
        return {"subject": subject, "version": version, "id": schema_id, **self.schemas[schema_id]}

    def _config(self, subject: str) -> Answer:
        return 404, {"error_code": 40408, "message": f"Subject '{subject}' has no compatibility level"}

    def _look_up(self, subject: str, schema: dict[str, Any]) -> Answer:
        for schema_id in self.subjects.get(subject, []):
            if _same(self.schemas[schema_id], schema):
                return 200, self._described(subject, schema_id)
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _register(self, subject: str, schema: dict[str, Any]) -> Answer:
        if reasons := self._reasons(subject, schema):
            message = f"Schema being registered is incompatible with an earlier schema: {reasons}"
            return 409, {"error_code": 409, "message": message}
        return 200, {"id": self.add_version(subject, schema)}

    def _compatibility(self, subject: str, schema: dict[str, Any]) -> Answer:
        if subject not in self.subjects:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        reasons = self._reasons(subject, schema)
        return 200, {"is_compatible": not reasons, "messages": reasons}

    def _reasons(self, subject: str, schema: dict[str, Any]) -> list[str]:
        versions = self.subjects.get(subject)
        if not versions or schema.get("schemaType", "AVRO") != "AVRO":
            return []
        before, after = (json.loads(each["schema"]) for each in (self.schemas[versions[-1]], schema))
        if not isinstance(before, dict) or not isinstance(after, dict) or after["type"] != "record":
            return [] if before == after else ["the type changed"]
        known = {field["name"] for field in before["fields"]}
        return [
            f"the new field {field['name']} has no default"
            for field in after["fields"]
            if field["name"] not in known and "default" not in field
        ]


def _schema_in(body: dict[str, Any]) -> dict[str, Any]:
    kept = {name: body[name] for name in ("schema", "schemaType", "references") if body.get(name)}
    if kept.get("schemaType") == "AVRO":
        del kept["schemaType"]
    return kept


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    try:
        return bool(json.loads(one["schema"]) == json.loads(other["schema"]))
    except ValueError:
        return bool(one["schema"] == other["schema"])


@contextlib.contextmanager
def running_registry(path: str = "") -> Iterator[RegistryStub]:
    """Serve a registry whose addresses begin with `path`."""
    stub = RegistryStub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", None)

        def do_POST(self) -> None:
            self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, method: str, body: dict[str, Any] | None) -> None:
            status, answer = 401, {"error_code": 401, "message": "Unauthorized"}
            if stub.authorization is None or self.headers["Authorization"] == stub.authorization:
                status, answer = stub.answer(method, self.path.removeprefix(path), body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_address[1]}{path}"
    yield stub
    server.shutdown()
    server.server_close()
    thread.join()
