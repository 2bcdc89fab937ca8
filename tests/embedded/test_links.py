import asyncio

import pytest

from penstock.embedded import links as links_module
from penstock.embedded.links import Links

ME, OTHER = 1, 2


def test_a_connection_over_a_cut_link_waits_until_it_is_healed() -> None:
    async def connect() -> None:
        links = Links()
        links.cut(ME, OTHER)
        connecting = asyncio.create_task(links.passable(ME, OTHER))
        await asyncio.sleep(0)
        assert not connecting.done()
        links.heal()
        await asyncio.wait_for(connecting, 10)

    asyncio.run(connect())


def test_a_connection_over_a_cut_link_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "_CONNECT_S_MAX", 0.01)
    links = Links()
    links.cut(ME, OTHER)
    with pytest.raises(TimeoutError):
        asyncio.run(links.passable(ME, OTHER))
