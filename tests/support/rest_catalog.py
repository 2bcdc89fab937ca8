"""An Iceberg REST catalog for tests, over pyiceberg's SQL catalog. It wants a token and vends S3 credentials."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from pyiceberg import exceptions
from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableRequest

TOKEN = "the-token-of-the-test"
_STATUS = {
    exceptions.NoSuchTableError: 404,
    exceptions.NoSuchNamespaceError: 404,
    exceptions.TableAlreadyExistsError: 409,
    exceptions.NamespaceAlreadyExistsError: 409,
    exceptions.CommitFailedException: 409,
}


class RestCatalogServer:
    """`properties` are what a user writes to reach it: no credentials of the store."""

    def __init__(self, database: str, warehouse: str, storage: Mapping[str, str]) -> None:
        self.catalog = SqlCatalog("server", uri=f"sqlite:///{database}", warehouse=warehouse, **storage)
        self.storage = dict(storage)
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.properties = {
            "type": "rest",
            "uri": f"http://127.0.0.1:{self.http.server_address[1]}",
            "token": TOKEN,
        }
        self._thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self._thread.join()
        self.http.server_close()
        self.catalog.engine.dispose()

    def answer(self, method: str, path: list[str], body: Any) -> dict[str, Any]:
        match method, path:
            case "GET", ["config"]:
                return {"defaults": {}, "overrides": {}}
            case "POST", ["namespaces"]:
                self.catalog.create_namespace(tuple(body["namespace"]))
                return {"namespace": body["namespace"], "properties": {}}
            case (("GET" | "HEAD"), ["namespaces", namespace]):
                self.catalog.load_namespace_properties(namespace)
                return {"namespace": [namespace], "properties": {}}
            case "POST", ["namespaces", namespace, "tables"]:
                return self._create(namespace, CreateTableRequest.model_validate({"location": None, **body}))
            case "GET", ["namespaces", namespace, "tables", name]:
                return self._table(self.catalog.load_table((namespace, name)))
            case "POST", ["namespaces", namespace, "tables", name]:
                return self._commit((namespace, name), body)
        raise LookupError(f"{method} {path}")

    def _create(self, namespace: str, request: CreateTableRequest) -> dict[str, Any]:
        identifier = (namespace, request.name)
        if self.catalog.table_exists(identifier):
            raise exceptions.TableAlreadyExistsError(str(identifier))
        staged = self.catalog._create_staged_table(
            identifier,
            request.table_schema,
            request.location,
            request.partition_spec,
            properties=request.properties,
        )
        assert request.stage_create
        return self._table(staged)

    def _commit(self, identifier: tuple[str, str], body: Any) -> dict[str, Any]:
        request = CommitTableRequest.model_validate(
            {"identifier": {"namespace": [identifier[0]], "name": identifier[1]}, **body}
        )
        named = type("Named", (), {"name": lambda _self: identifier})()
        done = self.catalog.commit_table(named, request.requirements, request.updates)
        return {
            "metadata-location": done.metadata_location,
            "metadata": json.loads(done.metadata.model_dump_json()),
        }

    def _table(self, table: Any) -> dict[str, Any]:
        return {
            "metadata-location": table.metadata_location,
            "metadata": json.loads(table.metadata.model_dump_json()),
            "config": self.storage,
        }


def _handler(server: RestCatalogServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            path = [unquote(each) for each in urlsplit(self.path).path.strip("/").split("/")][1:]
            status, answer = 200, dict[str, Any]()
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                status, answer = 401, _error(401, "NotAuthorizedException", "not authorized")
            else:
                try:
                    answer = server.answer(self.command, path, body)
                except tuple(_STATUS) as refused:
                    status = _STATUS[type(refused)]
                    answer = _error(status, type(refused).__name__, str(refused))
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_HEAD = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Keep the output of tests quiet."""

    return Handler


def _error(code: int, kind: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "type": kind, "message": message}}
