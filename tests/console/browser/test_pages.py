"""Every page in a real browser: it shows what the broker has, on any screen, in either theme, by keyboard."""

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from playwright.sync_api import expect

from tests.console.browser.conftest import PHONE, Visiting
from tests.support.broker import BrokerProcess

pytestmark = pytest.mark.xdist_group("console")

PAGES = ("#/", "#/topics", "#/topics/orders", "#/topics/orders/partitions", "#/topics/orders/config", "#/groups",
         "#/groups/billing", "#/brokers", "#/brokers/1", "#/mirrors", "#/acls", "#/pipelines",
         "#/pipelines/payments", "#/sql")  # fmt: skip
HOSTILE = "<img src=x onerror=\"document.title='broken into'\"><script>alert(1)</script>"


@pytest.fixture(scope="module", autouse=True)
def cluster(make_topic: Callable[..., str], send: Callable[..., None], commit: Callable[..., None]) -> None:
    """The content of the pages: two topics with messages, two lagging groups, a dead letter."""
    make_topic("orders")
    make_topic("clicks", 3)
    make_topic("views", 3)
    make_topic("payments.dlq", 1)
    for number in range(12):
        value = f'{{"order": {number}, "amount": {number * 3.5}, "lines": ["tea", "honey"]}}'
        send("orders", value, key=f"customer-{number % 3}", partition=number % 2, headers={"trace": b"4f1c"})
    send("clicks", HOSTILE, key=HOSTILE, partition=0)
    rejected = [("dlq.pipeline", "payments"), ("dlq.step", "orders"), ("dlq.error", f"amount: {HOSTILE}"),
                ("dlq.topic", "orders"), ("dlq.partition", "1"), ("dlq.offset", "3")]  # fmt: skip
    send("payments.dlq", b'{"amount": "abc"}', headers=[(name, text.encode()) for name, text in rejected])
    commit("billing", "orders", {0: 2, 1: 6})
    commit("penstock-pipeline.payments.totals", "orders", {0: 6, 1: 3})


def test_the_overview_counts_the_cluster_and_draws_the_traffic(
    visit: Visiting, send: Callable[..., None]
) -> None:
    here = visit()
    page = here.open()
    expect(page.get_by_text("Under-replicated")).to_be_visible()
    expect(page.get_by_role("table", name="Busiest topics")).to_contain_text("orders")
    chart = page.get_by_role("img", name="Messages in")
    for number in range(40):
        send("clicks", f"click {number}", partition=number % 3)
    expect(chart.locator("polyline")).to_be_attached()
    here.wait_until("!/peak 0\\/s/.test(document.querySelector('.chart').textContent)")
    for turn in range(40 if here.is_picturing else 0):  # a picture wants a line, and the line wants time
        for number in range(20 + 15 * (turn % 7)):
            send("clicks" if number % 3 else "views", f"click {number}")
        page.wait_for_timeout(500)
    here.picture("overview")


def test_a_partition_that_comes_back_online_is_not_shown_as_traffic(visit: Visiting) -> None:
    page = visit().open()
    rates = page.evaluate(
        """async () => {
            const { ratesBetween } = await import("./js/pages/overview.js");
            const at = (atMs, ends, sizes) => ({ atMs, topics: [{ name: "a", ends, sizes }] });
            const [rate] = ratesBetween(at(0, [10, null, 5], [100, null, 90]), at(2000, [14, 900, 5], [120, 900, 40]));
            return rate;
        }"""
    )
    assert rates == {"name": "a", "written": 919, "sizeBytes": 1060, "rate": 2, "bytesRate": 10}


def test_topics_are_found_by_search_and_opened_by_a_click(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/topics")
    here.picture("topics")
    table = page.get_by_role("table", name="Topics")
    expect(table.get_by_role("row", name="orders")).to_contain_text("in sync")
    page.get_by_role("searchbox").fill("clic")
    expect(table.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="clicks").click()
    expect(page.get_by_role("heading", name="clicks")).to_be_visible()


def test_a_topic_shows_partitions_with_leader_and_replicas(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/topics/orders/partitions")
    rows = page.get_by_role("table", name="Partitions of orders").locator("tbody tr")
    expect(rows).to_have_count(2)
    assert rows.nth(0).locator("td").all_inner_texts()[:4] == ["0", "1", "1", "1"]
    here.picture("partitions")


def test_messages_are_browsed_by_offset_and_by_time(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/topics/orders")
    rows = page.get_by_role("table", name="Messages of orders").locator("tbody tr")
    expect(rows).to_have_count(12)
    here.picture("messages")
    page.get_by_label("Where to begin").select_option("offset")
    page.get_by_label("Offset", exact=True).fill("4")
    page.get_by_label("Offset", exact=True).press("Tab")
    expect(rows).to_have_count(4)
    page.get_by_label("Where to begin").select_option("time")
    page.get_by_label("Time", exact=True).fill("2100-01-01T00:00:00")
    page.get_by_label("Time", exact=True).press("Tab")
    expect(rows).to_have_count(0)


def test_a_message_opens_with_json_text_and_hex_views(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/topics/orders")
    page.get_by_role("table").get_by_text('"order": 11').click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".json-key").first).to_have_text('"order"')
    here.picture("message")
    dialog.get_by_role("button", name="Hex").click()
    expect(dialog.locator(".hex")).to_contain_text("7b 22 6f 72 64 65 72 22")
    dialog.get_by_role("button", name="Key").click()
    dialog.get_by_role("button", name="Text").click()
    expect(dialog.locator(".payload")).to_have_text("customer-2")
    expect(dialog).to_contain_text("4f1c")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_hostile_message_is_shown_as_text(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/topics/clicks")
    page.get_by_label("Where to begin").select_option("oldest")
    row = page.get_by_role("table").locator("tbody tr", has_text="onerror").first
    expect(row).to_contain_text(HOSTILE)
    row.click()
    expect(page.get_by_role("dialog").locator(".payload")).to_have_text(HOSTILE)
    here.close_dialog()
    here.open("#/pipelines/payments")
    expect(page.get_by_role("table", name="Dead letters")).to_contain_text(HOSTILE)
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert "broken into" not in page.title()


def test_a_group_shows_its_lag(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/groups")
    page.get_by_role("link", name="billing").click()
    offsets = page.get_by_role("table", name="Offsets of billing").locator("tbody tr")
    expect(offsets).to_have_count(2)
    assert offsets.nth(0).locator("td").all_inner_texts() == ["orders", "0", "2", "6", "4", "none"]
    here.picture("group")


def test_brokers_are_shown_with_disks_quorum_and_settings(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/brokers")
    expect(page.get_by_role("table", name="Brokers")).to_contain_text("controller")
    expect(page.get_by_role("table", name="Metadata quorum")).to_contain_text("leader")
    here.picture("brokers")
    here.open("#/brokers/1")
    page.get_by_role("searchbox").fill("num.partitions")
    expect(page.get_by_role("table", name="Configuration of broker 1")).to_contain_text("broker's file")


def test_a_pipeline_shows_progress_and_dead_letters(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/pipelines")
    expect(page.get_by_text("1 dead letter", exact=True)).to_be_visible()
    here.picture("pipelines")
    page.get_by_role("link", name="payments", exact=True).click()
    queries = page.get_by_role("table", name="Queries of payments")
    expect(queries).to_contain_text("totals")
    expect(queries.get_by_role("img", name="75 percent read")).to_be_visible()
    expect(page.get_by_role("table", name="Dead letters")).to_contain_text("orders-1 @ 3")


def test_the_acl_page_reports_a_missing_authorizer(visit: Visiting) -> None:
    page = visit().open("#/acls")
    expect(page.get_by_role("status").first).to_contain_text("the cluster has no authorizer")


def test_every_page_fits_a_phone_without_scrolling_sideways(visit: Visiting) -> None:
    here = visit(PHONE)
    for where in PAGES:
        page = here.open(where)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], where
        if where == "#/topics/orders":
            here.picture("phone")


def test_the_theme_follows_the_system_until_it_is_switched(visit: Visiting) -> None:
    here = visit(color_scheme="dark")
    page = here.open("#/topics/orders")
    dark = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    here.picture("dark")
    page.get_by_role("button", name="Switch between light and dark").click()
    light = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    assert _brightness(dark) < 60
    assert _brightness(light) > 200
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def _brightness(color: str) -> float:
    return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(",")) / 3


def test_everything_is_reached_by_keyboard(visit: Visiting) -> None:
    here = visit()
    page = here.open("#/")
    press = page.keyboard.press
    press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MAIN"
    press("g")
    press("t")
    expect(page.get_by_role("heading", name="Topics", exact=True)).to_be_visible()
    press("/")
    page.keyboard.type("o")
    assert page.evaluate("document.activeElement.type") == "search"
    expect(page.get_by_role("table").locator("tbody tr")).to_have_count(1)
    press("Tab")  # internal
    press("Tab")  # the row
    press("Enter")
    expect(page.get_by_role("heading", name="orders")).to_be_visible()
    here.wait_until("document.activeElement.tagName === 'MAIN'")
    expect(page.get_by_role("table").locator("tbody tr")).to_have_count(12)
    page.get_by_role("table").locator("tbody tr").first.focus()
    press("ArrowDown")
    press("End")
    assert page.evaluate("document.activeElement.rowIndex") == 12
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"
    press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("document.activeElement.rowIndex") == 12
    press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_reduced_motion_disables_animations(visit: Visiting) -> None:
    page = visit(reduced_motion="reduce").open("#/")
    name = page.evaluate("getComputedStyle(document.querySelector('.live'), '::before').animationName")
    assert name == "none"


def test_a_full_disk_is_a_banner_on_every_page_until_there_is_space(
    visit: Visiting, broker: BrokerProcess
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def set_reserve(reserve_bytes: str) -> None:
        entry = ConfigEntry(
            "penstock.disk.reserve.bytes",
            reserve_bytes,
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(30)

    here = visit()
    banner = here.open("#/topics").locator(".banner")
    expect(banner).to_be_empty()
    try:
        set_reserve(str(1 << 60))
        expect(banner).to_contain_text("The disk of broker 1 is full")
        expect(here.open("#/groups").locator(".banner")).to_contain_text("Clients' writes are refused")
    finally:
        set_reserve("-1")
    expect(banner).to_be_empty()


def test_back_closes_a_dialog_and_stays_on_the_page(visit: Visiting) -> None:
    here = visit()
    here.open("#/groups")
    page = here.open("#/topics")
    page.get_by_role("button", name="Create topic").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", name="Groups")).to_be_visible()
    assert here.complaints == []


def test_a_closed_dialog_leaves_no_history_entry(visit: Visiting) -> None:
    here = visit()
    here.open("#/groups")
    page = here.open("#/topics")
    page.get_by_role("button", name="Create topic").click()
    here.close_dialog()
    page.go_back()
    expect(page.get_by_role("heading", name="Groups")).to_be_visible()


def test_an_unknown_address_shows_an_error(visit: Visiting) -> None:
    page = visit().open("#/topcis")
    expect(page.get_by_role("alert")).to_contain_text("There is no page #/topcis in this console.")
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_text("Under-replicated")).to_be_visible()
