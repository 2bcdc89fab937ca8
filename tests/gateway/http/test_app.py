"""Rules for all routes of the admin port."""

import asyncio

import pytest

from tests.gateway.http.admin import Admin


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("DELETE", "/healthz", 415),
        ("POST", "/healthz", 405),
        ("PUT", "/topics/a/records", 405),
    ],
)
async def test_an_unknown_route_is_answered_with_a_problem(
    admin: Admin, method: str, path: str, status: int
) -> None:
    headers = {} if method == "DELETE" else {"Content-Type": "application/json"}
    async with admin.http.request(method, path, headers=headers) as answer:
        problem = await answer.json(content_type="application/problem+json")
        assert answer.status == problem["status"] == status
        assert problem["title"]
        assert problem["detail"]


async def test_a_foreign_host_name_is_refused_everywhere(admin: Admin) -> None:
    for path in ("/healthz", "/metrics", "/topics/a/records", "/console/", "/nothing"):
        async with admin.http.get(path, headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403, path


async def test_no_other_site_may_read_the_answers(admin: Admin) -> None:
    async with admin.http.get("/healthz") as answer:
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_an_unhandled_error_is_answered_with_a_problem_without_details(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_services: object) -> list[str]:
        raise RuntimeError("a secret")

    monkeypatch.setattr("penstock.gateway.http.health.obstacles_of", broken)
    status, problem = await admin.get("/readyz")
    assert (status, "secret" in problem["detail"]) == (500, False)
    assert "a secret" in caplog.text


@pytest.mark.parametrize("path", ["/topics/a/records", "/console/api/login", "/nothing"])
@pytest.mark.parametrize(
    ("header", "status"), [("Content-Encoding: gzip", 415), ("Content-Length: 1000000000", 413)]
)
async def test_an_expensive_body_is_refused_before_it_is_received(
    admin: Admin, path: str, header: str, status: int
) -> None:
    host, port = admin.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    length = "" if header.startswith("Content-Length") else "Content-Length: 3000000\r\n"
    writer.write(
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"{length}{header}\r\n\r\n".encode()
    )
    assert (await reader.readline()).split()[1] == str(status).encode()
    writer.close()
