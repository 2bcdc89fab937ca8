"""Queries of the console: limits, and the credentials of the user. The browser's tests run them."""

import asyncio
import importlib.util
import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from penstock.client.aio import Client, ClientSettings, with_password
from penstock.console.api import sql
from penstock.console.app import ConsoleSettings, routes

SETTINGS = ClientSettings.from_properties(
    {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "500"}
)


def ask(query: str) -> tuple[int, Any]:
    async def visit() -> tuple[int, Any]:
        app = web.Application()
        routes(app, ConsoleSettings(connection=SETTINGS))
        async with TestClient(TestServer(app)) as browser:
            response = await browser.post("/console/api/sql", json={"query": query})
            return response.status, (await response.json())["error"]

    return asyncio.run(visit())


def test_a_query_has_the_credentials_of_its_user_and_limits() -> None:
    async def made() -> Any:
        client = Client(SETTINGS, security=with_password("alice", "secret"))
        built = sql._request(client, sql.Query(query="SELECT 1"))
        await client.close()
        return json.loads(built)

    request = asyncio.run(made())
    assert {each["username"] for each in request["sasl"]} == {"alice"}
    assert [each["mechanism"] for each in request["sasl"]] == ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]
    assert (request["memory_limit"], request["rows_max"]) == ("256MB", 1000)


def test_a_query_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "SECONDS_MAX", 0.5)
    status, error = ask("SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b")
    assert status == 400
    assert "took longer than" in error["message"]


def test_without_the_extra_the_answer_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "duckdb" else find(name))
    status, error = ask("SELECT 1")
    assert (status, error["code"]) == (400, "NOT_INSTALLED")
    assert "[sql]" in error["message"]
