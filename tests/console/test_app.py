"""The console over HTTP, without a broker: static files, refusals, and errors while the cluster is unreachable."""

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from penstock.client.aio import ClientSettings
from penstock.console.app import ConsoleSettings, routes
from tests.support.broker import free_port

STATIC = Path(__file__).resolve().parents[2] / "src" / "penstock" / "console" / "static"

Browser = TestClient[web.Request, web.Application]


def _visit(body: Callable[[Browser], Awaitable[None]], *, needs_login: bool = False) -> None:
    unreachable = ClientSettings.from_properties({"bootstrap.servers": f"127.0.0.1:{free_port()}"})

    async def run() -> None:
        app = web.Application()
        routes(app, ConsoleSettings(connection=unreachable, needs_login=needs_login))
        async with TestClient(TestServer(app)) as client:
            await body(client)

    asyncio.run(run())


def test_the_root_redirects_to_the_pages_and_every_answer_has_security_headers() -> None:
    async def body(client: Browser) -> None:
        for where in ("/", "/console", "/console/"):
            response = await client.get(where)
            assert response.status == 200
            assert "<title>Penstock</title>" in await response.text()
            assert "default-src 'self'" in response.headers["Content-Security-Policy"]
            assert response.headers["X-Content-Type-Options"] == "nosniff"

    _visit(body)


def test_nothing_outside_of_the_static_files_is_served() -> None:
    async def body(client: Browser) -> None:
        for where in (
            "/console/../app.py",
            "/console/%2e%2e/app.py",
            "/console/..%2fapp.py",
            "/console/api/nothing",
        ):
            assert (await client.get(where)).status in (403, 404), where

    _visit(body)


def test_a_compressed_request_is_refused() -> None:
    async def body(client: Browser) -> None:
        response = await client.post(
            "/console/api/login",
            data=gzip.compress(b"{}"),
            headers={"Content-Type": "application/json", "Content-Encoding": "gzip"},
        )
        assert response.status == 415

    _visit(body)


def test_a_request_with_a_foreign_host_name_is_refused() -> None:
    async def body(client: Browser) -> None:
        response = await client.get("/console/api/session", headers={"Host": "evil.example"})
        assert response.status == 403
        assert "evil.example" in (await response.json())["error"]["message"]

    _visit(body)


def test_a_form_of_another_page_changes_nothing() -> None:
    async def body(client: Browser) -> None:
        response = await client.post("/console/api/topics", data={"name": "forged"})
        assert response.status == 403
        response = await client.post(
            "/console/api/topics", json={"name": "forged"}, headers={"Origin": "https://evil.example"}
        )
        assert response.status == 403

    _visit(body)


def test_without_a_login_nothing_is_shown() -> None:
    async def body(client: Browser) -> None:
        assert (await (await client.get("/console/api/session")).json())["needsLogin"] is True
        for where in ("overview", "topics", "topics/a/messages", "groups", "brokers", "acls", "pipelines"):
            response = await client.get(f"/console/api/{where}")
            assert response.status == 401, where
            assert (await response.json())["error"]["code"] == "LOGIN_NEEDED"

    _visit(body, needs_login=True)


def test_a_malformed_request_is_refused_with_a_message() -> None:
    async def body(client: Browser) -> None:
        response = await client.post("/console/api/groups/a/reset", json={"to": 7})
        assert response.status == 400
        assert "cannot be read" in (await response.json())["error"]["message"]

    _visit(body)


def test_the_pages_build_no_html_from_strings_and_name_no_other_host() -> None:
    """The content of a message is shown as text because the pages never build HTML from strings."""
    sources = [*STATIC.rglob("*.js"), *STATIC.rglob("*.html"), *STATIC.rglob("*.css"), *STATIC.rglob("*.svg")]
    assert len(sources) > 25
    for source in sources:
        text = source.read_text()
        made = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", text
        )
        assert made == [], source.name
        addresses = [each for each in re.findall(r"https?://[^\s\"'`]+", text) if "www.w3.org" not in each]
        assert addresses == [], source.name
        assert len(text.splitlines()) < 200, source.name
