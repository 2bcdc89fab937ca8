import pytest

from penstock.console.guard import SECURITY_HEADERS, host_name, rejection_reason

_OWN = {"Host": "127.0.0.1:9644"}
_JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "host", ["localhost:9644", "127.0.0.1:9644", "[::1]:9644", "10.0.0.7", "ops.example:80"]
)
def test_addresses_localhost_and_allowed_names_are_served(host: str) -> None:
    assert rejection_reason("GET", {"Host": host}, frozenset({"ops.example"})) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:9644", "", "127.0.0.1.evil.example"]
)
def test_any_other_name_is_refused_because_it_may_be_rebound(host: str) -> None:
    said = rejection_reason("GET", {"Host": host}, frozenset())
    assert said is not None
    assert "--allow-host" in said


def test_a_star_allows_any_name() -> None:
    assert rejection_reason("GET", {"Host": "any.example"}, frozenset({"*"})) is None


def test_a_change_must_be_json() -> None:
    assert rejection_reason("POST", {**_OWN, **_JSON}, frozenset()) is None
    assert (
        rejection_reason("POST", {**_OWN, "Content-Type": "application/json; charset=utf-8"}, frozenset())
        is None
    )
    for simple in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert rejection_reason("POST", {**_OWN, "Content-Type": simple}, frozenset()) is not None
        assert rejection_reason("DELETE", {**_OWN, "Content-Type": simple}, frozenset()) is not None


def test_a_change_from_a_page_of_another_origin_is_refused() -> None:
    ours = {**_OWN, **_JSON, "Origin": "http://127.0.0.1:9644"}
    assert rejection_reason("POST", ours, frozenset()) is None
    assert rejection_reason("POST", {**ours, "Origin": "http://127.0.0.1:3000"}, frozenset()) is not None
    assert rejection_reason("POST", {**ours, "Origin": "null"}, frozenset()) is not None
    assert rejection_reason("POST", {**ours, "Sec-Fetch-Site": "same-site"}, frozenset()) is not None


def test_another_site_may_link_to_the_console_but_load_nothing_from_it() -> None:
    cross = {**_OWN, "Sec-Fetch-Site": "cross-site"}
    assert rejection_reason("GET", {**cross, "Sec-Fetch-Mode": "navigate"}, frozenset()) is None
    assert rejection_reason("GET", {**cross, "Sec-Fetch-Mode": "no-cors"}, frozenset()) is not None
    assert rejection_reason("POST", {**cross, **_JSON, "Sec-Fetch-Mode": "navigate"}, frozenset()) is not None


def test_the_name_is_read_without_port_and_brackets() -> None:
    assert [host_name(each) for each in ("Ops:80", "[::1]:80", "127.0.0.1")] == ["ops", "::1", "127.0.0.1"]


def test_scripts_are_allowed_only_from_this_server() -> None:
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
