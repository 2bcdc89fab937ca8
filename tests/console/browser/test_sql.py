"""The page for SQL in a real browser: table, chart, files, errors."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.conftest import Visiting

pytestmark = pytest.mark.xdist_group("console")

GROUPED = "SELECT customer, sum(amount) AS total FROM orders GROUP BY 1 ORDER BY 1"


@pytest.fixture(scope="module", autouse=True)
def orders(make_topic: Callable[..., str], send: Callable[..., None]) -> None:
    make_topic("orders")
    for number in range(6):
        send("orders", f'{{"customer": "c{number % 2}", "amount": {number}}}', partition=number % 2)


def run(page: Page, query: str) -> None:
    page.get_by_label("Query").fill(query)
    page.get_by_label("Query").press("Control+Enter")


def test_rows_are_a_table_a_chart_and_a_file(visit: Visiting, tmp_path: Path) -> None:
    here = visit()
    page = here.open("#/sql")
    run(page, GROUPED)
    rows = page.get_by_role("table", name="Rows").locator("tbody tr")
    expect(rows).to_have_text(["c06", "c19"])
    expect(page.get_by_role("status").filter(has_text="scanned")).to_contain_text("orders: 6 records scanned")
    here.picture("sql")
    page.get_by_role("button", name="Chart").click()
    expect(page.get_by_role("list", name="total").get_by_role("listitem")).to_have_text(["c06", "c19"])
    with page.expect_download() as saved:
        page.get_by_role("button", name="PARQUET").click()
    saved.value.save_as(tmp_path / "query.parquet")
    assert pq.read_table(tmp_path / "query.parquet").to_pydict() == {
        "customer": ["c0", "c1"],
        "total": [6, 9],
    }


def test_a_wrong_query_says_what_is_wrong_and_writes_and_files_are_refused(visit: Visiting) -> None:
    page = visit().open("#/sql")
    run(page, "SELECT nothing FROM orders")
    expect(page.get_by_role("alert")).to_contain_text('"nothing" not found')
    expect(page.get_by_role("alert")).to_contain_text("(line 1, column 8)")
    run(page, "DELETE FROM orders")
    expect(page.get_by_role("alert")).to_contain_text("DELETE is not a query")
    run(page, "SELECT * FROM '/etc/passwd'")
    expect(page.get_by_role("alert")).to_contain_text("tables by path are not available here")
