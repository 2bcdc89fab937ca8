"""The WebSocket route of subscriptions."""

import aiohttp
import pytest

from penstock.gateway.http import subscribe
from tests.gateway.http.admin import Admin, admin_of


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 400), ("topics=gateway-none", 404), ("topics=a&window=0", 400), ("topics=a&rest=earliest", 400)],
)
async def test_a_refused_subscription_gets_an_ordinary_error_response(
    admin: Admin, query: str, status: int
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await admin.http.ws_connect(f"/groups/g/subscribe?{query}")
    assert refused.value.status == status


async def test_a_request_without_an_upgrade_is_refused(admin: Admin) -> None:
    assert (await admin.get("/groups/g/subscribe?topics=a"))[0] == 426


async def test_a_page_of_another_site_cannot_open_a_websocket(admin: Admin) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await admin.http.ws_connect("/groups/g/subscribe?topics=a", headers={"Origin": "http://evil.example"})
    assert refused.value.status == 403


async def test_the_subscriptions_of_one_reader_are_limited(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribe, "SUBSCRIPTIONS_PER_USER_MAX", 0)
    async with admin_of(admin.broker) as url, aiohttp.ClientSession(url) as http:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect("/groups/g/subscribe?topics=t")
    assert refused.value.status == 429
