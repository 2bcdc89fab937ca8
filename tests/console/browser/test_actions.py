"""A user's actions in the console, in a real browser: they reach the broker, or its refusal is shown."""

import io
import json
from collections.abc import Callable, Iterator

import fastavro
import pytest
from confluent_kafka import Consumer
from playwright.sync_api import Page, expect

from tests.console.browser.conftest import Visiting
from tests.support.broker import BrokerProcess

pytestmark = pytest.mark.xdist_group("console")


def test_a_topic_is_created_and_deleted_by_typing_its_name(visit: Visiting) -> None:
    page = visit().open("#/topics")
    page.get_by_role("button", name="Create topic").click()
    page.get_by_label("Name", exact=True).fill("made-here")
    page.get_by_label("Partitions").fill("3")
    page.get_by_label("Configuration").fill("cleanup.policy=compact")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name="made-here")).to_be_visible()
    page.get_by_role("link", name="Configuration").click()
    page.get_by_label("changed only").check()
    expect(page.get_by_role("table").locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("something-else")
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("alert")).to_contain_text("That is not made-here")
    dialog.get_by_role("textbox").fill("made-here")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    expect(page.get_by_role("link", name="made-here")).to_have_count(0)


def test_an_existing_topic_is_refused_with_a_message(visit: Visiting, make_topic: Callable[..., str]) -> None:
    name = make_topic("taken")
    page = visit().open("#/topics")
    page.get_by_role("button", name="Create topic").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("a topic of that name already exists")


def test_a_setting_is_changed_and_restored(visit: Visiting, make_topic: Callable[..., str]) -> None:
    here = visit()
    page = here.open(f"#/topics/{make_topic('tuned')}/config")
    page.get_by_role("searchbox").fill("retention.ms")
    page.get_by_role("button", name="Change retention.ms", exact=True).click()
    page.get_by_label("Value").fill("an hour")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("INVALID_CONFIG")
    page.get_by_label("Value").fill("3600000")
    page.get_by_role("button", name="Save").click()
    row = page.get_by_role("table").locator("tbody tr", has_text="3600000")
    expect(row).to_be_visible()
    here.picture("configuration")
    page.get_by_role("button", name="Reset retention.ms", exact=True).click()
    expect(page.get_by_role("table")).not_to_contain_text("3600000")


def test_a_produced_message_appears_in_an_open_tail(visit: Visiting, make_topic: Callable[..., str]) -> None:
    name = make_topic("watched")
    tail = visit()
    watching = tail.open(f"#/topics/{name}")
    watching.get_by_role("button", name="Live tail").click()
    watching.wait_for_selector("[data-tail=open]")

    here = visit()
    writing = here.open(f"#/topics/{name}")
    writing.get_by_role("button", name="Produce message").click()
    writing.get_by_label("Key", exact=True).fill("greeting")
    writing.get_by_label("Value", exact=True).fill('{"hello": "tail"}')
    writing.get_by_role("button", name="Add header").click()
    writing.get_by_label("Header name").fill("trace")
    writing.get_by_label("Header value").fill("00-4f1c")
    here.picture("produce")
    writing.get_by_role("button", name="Produce", exact=True).click()
    expect(writing.locator(".toast")).to_contain_text("at offset 0")
    expect(writing.get_by_role("table").locator("tbody tr")).to_contain_text("greeting")

    row = watching.get_by_role("table").locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text('{"hello": "tail"}')
    tail.picture("tail")
    row.click()
    expect(watching.get_by_role("dialog")).to_contain_text("00-4f1c")


def test_messages_are_searched_with_progress_and_by_key(
    visit: Visiting, make_topic: Callable[..., str], send: Callable[..., None]
) -> None:
    name = make_topic("haystack", 1)
    for number in range(30):
        send(name, f"straw {number}", key="needle" if number == 17 else "hay")
    page = visit().open(f"#/topics/{name}")
    page.get_by_role("searchbox").fill("NEEDLE")
    page.get_by_role("searchbox").press("Enter")
    rows = page.get_by_role("table").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("straw 17")
    expect(page.get_by_text("Search complete: 1 of 30 messages match.")).to_be_visible()
    page.get_by_label("Search in").select_option("value")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("Search complete: 0 of 30 messages match.")).to_be_visible()


def test_a_search_is_cancelled(visit: Visiting, make_topic: Callable[..., str]) -> None:
    page = visit().open(f"#/topics/{make_topic('endless', 1)}")
    page.route("**/search?**", lambda _: None)  # as if it never ended
    page.get_by_role("searchbox").fill("anything")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled: 0 of 0 messages match.")).to_be_visible()


def test_older_pages_follow_until_the_first_message(
    visit: Visiting, make_topic: Callable[..., str], send: Callable[..., None]
) -> None:
    name = make_topic("long")
    for number in range(120):
        send(name, f"message {number}", partition=number % 2)
    page = visit().open(f"#/topics/{name}")
    rows = page.get_by_role("table").locator("tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(120)
    expect(page.get_by_role("button", name="Older")).to_be_hidden()
    assert len(set(rows.locator("td:last-child").all_inner_texts())) == 120


def test_avro_is_decoded_with_a_schema_that_is_pasted(
    visit: Visiting, make_topic: Callable[..., str], send: Callable[..., None]
) -> None:
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, {"id": 2**60})
    name = make_topic("framed", 1)
    send(name, b"\x00\x00\x00\x00\x2a" + body.getvalue())
    here = visit()
    page = here.open(f"#/topics/{name}")
    page.get_by_role("table").locator("tbody tr").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Confluent framing with schema id 42")
    dialog.get_by_role("button", name="Decode").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Paste the schema")
    dialog.get_by_label("Avro schema").fill(json.dumps(schema))
    dialog.get_by_role("button", name="Decode").click()
    expect(dialog.locator("pre")).to_contain_text(f'"id": "{2**60}"')
    here.picture("avro")


@pytest.fixture
def reader(broker: BrokerProcess) -> Iterator[Callable[[str, str], Consumer]]:
    """Let a consumer join a group, until the test ends or closes it."""
    joined: list[Consumer] = []

    def join(group: str, topic: str) -> Consumer:
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": "night-shift"}
        )
        joined.append(consumer)
        consumer.subscribe([topic])
        while not consumer.assignment():
            consumer.poll(0.05)
        return consumer

    yield join
    for consumer in joined:
        consumer.close()


def _ask_reset(page: Page, to: str) -> None:
    page.get_by_role("button", name="Reset offsets").click()
    page.get_by_label("To", exact=True).select_option(to)
    page.get_by_role("dialog").get_by_role("button", name="Preview").click()


def test_offsets_are_reset_after_a_preview(
    visit: Visiting, make_topic: Callable[..., str], send: Callable[..., None], commit: Callable[..., None]
) -> None:
    topic = make_topic("replayed", 1)
    for number in range(5):
        send(topic, str(number))
    commit("replay", topic, {0: 5})
    here = visit()
    page = here.open("#/groups/replay")
    _ask_reset(page, "earliest")
    dialog = page.get_by_role("dialog")
    changes = dialog.get_by_role("table", name="New offsets").locator("tbody tr")
    expect(changes).to_have_count(1)
    assert changes.locator("td").all_inner_texts() == ["replayed", "0", "5", "0"]
    here.picture("reset")
    dialog.get_by_role("button", name="Reset offsets").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("table", name="Offsets of replay").locator("tbody tr td").nth(4)).to_have_text(
        "5"
    )


def test_a_reset_is_refused_with_a_message_while_a_member_is_active(
    visit: Visiting, make_topic: Callable[..., str], reader: Callable[[str, str], Consumer]
) -> None:
    reader("busy", make_topic("in-use", 1))
    here = visit()
    page = here.open("#/groups/busy")
    expect(page.get_by_role("table", name="Members of busy")).to_contain_text("night-shift")
    _ask_reset(page, "latest")
    alert = page.get_by_role("dialog").get_by_role("alert")
    expect(alert).to_contain_text("cannot be reset while it has active members (night-shift")
    here.picture("refused")
