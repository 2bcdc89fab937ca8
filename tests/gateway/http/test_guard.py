"""Requests that other web pages may not make."""

import pytest

from penstock.gateway.http.guard import BODY_BYTES_MAX, check
from penstock.gateway.http.problems import Problem

HOSTS = frozenset({"broker-1"})
JSON = {"Content-Type": "application/json; charset=utf-8"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9644", "localhost", "LOCALHOST:1", "[::1]:9644", "broker-1:9644"]
)
def test_addresses_and_known_names_are_served(host: str) -> None:
    check("GET", {"Host": host}, HOSTS)
    check("POST", {"Host": host, "Origin": f"http://{host}", **JSON}, HOSTS)
    check("POST", {"Host": host, **JSON}, HOSTS)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9644", "", "localhost.evil.example", "127.0.0.1.evil"]
)
def test_a_foreign_name_of_this_address_is_refused(host: str) -> None:
    with pytest.raises(Problem, match=r"penstock\.admin\.allowed\.hosts") as refused:
        check("GET", {"Host": host}, HOSTS)
    assert refused.value.status == 403
    check("GET", {"Host": host}, frozenset({"*"}))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost:9644"]
)
def test_a_page_of_another_origin_may_neither_post_nor_open_a_websocket(origin: str) -> None:
    for method in ("GET", "POST"):
        with pytest.raises(Problem, match="may not send requests") as refused:
            check(method, {"Host": "127.0.0.1:9644", "Origin": origin, **JSON}, HOSTS)
        assert refused.value.status == 403


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_content_type_that_a_form_could_send_is_refused(content_type: str) -> None:
    with pytest.raises(Problem, match="Content-Type") as refused:
        check("POST", {"Host": "localhost", "Content-Type": content_type}, HOSTS)
    assert refused.value.status == 415


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "GZIP", "unknown"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_compressed_body_is_refused(method: str, encoding: str) -> None:
    with pytest.raises(Problem, match="Content-Encoding") as refused:
        check(method, {"Host": "localhost", "Content-Encoding": encoding, **JSON}, HOSTS)
    assert refused.value.status == 415
    check(method, {"Host": "localhost", "Content-Encoding": "identity", **JSON}, HOSTS)


def test_a_body_with_a_too_large_content_length_is_refused() -> None:
    check("POST", {"Host": "localhost", "Content-Length": f"{BODY_BYTES_MAX}", **JSON}, HOSTS)
    with pytest.raises(Problem, match=f"{BODY_BYTES_MAX} bytes") as refused:
        check("POST", {"Host": "localhost", "Content-Length": f"{BODY_BYTES_MAX + 1}", **JSON}, HOSTS)
    assert refused.value.status == 413
