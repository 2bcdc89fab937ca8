from tests.gateway.http.admin import Admin


async def test_metrics_are_in_the_text_format_of_prometheus(admin: Admin) -> None:
    async with admin.http.get("/metrics") as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = (await answer.text()).splitlines()
    assert any(line.startswith("# TYPE penstock_") for line in lines)
    assert all(line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in lines)
