"""A real browser on a real console on a real broker: one of each for a module.

Playwright drives the Chromium of the system. With PENSTOCK_SCREENSHOTS set, the tests renew the pictures in
docs/console/; otherwise they write nothing into the tree.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.support.broker import BrokerProcess, free_port
from tests.support.cluster import eventually
from tests.support.plugin import require_tool, running_broker

PICTURES = Path(__file__).resolve().parents[3] / "docs" / "console"
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
_TIMEOUT_MS = 15_000
expect.set_options(timeout=_TIMEOUT_MS)


class Visit:
    """A page of the console, with the errors and requests that the browser reported."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        page.set_default_timeout(_TIMEOUT_MS)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        page.on("request", self._on_request)

    def open(self, where: str = "#/") -> Page:
        """Go to a page and wait until it shows its own content."""
        self.page.goto(f"{self.base}{where}")
        self.page.wait_for_selector(f'main[data-at="{where.removeprefix("#/")}"]')
        return self.page

    def close_dialog(self) -> None:
        """Close a dialog and wait until the browser has gone back in its history: that would undo what comes next."""
        self.page.keyboard.press("Escape")
        expect(self.page.get_by_role("dialog")).to_have_count(0)
        self.wait_until("window.history.state === null")

    def wait_until(self, expression: str) -> None:
        """Wait for a condition in the page. The page's own rules forbid Playwright's `wait_for_function`, which
        evaluates in the page whenever it has to look a second time.
        """
        eventually(lambda: bool(self.page.evaluate(expression)), expression, _TIMEOUT_MS / 1000)

    @property
    def is_picturing(self) -> bool:
        return "PENSTOCK_SCREENSHOTS" in os.environ

    def picture(self, name: str) -> None:
        if self.is_picturing:
            PICTURES.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")

    def _on_console(self, message: ConsoleMessage) -> None:
        # A refused request is shown to the user, and noted by the browser besides.
        if message.type in ("error", "warning") and "responded with a status of 4" not in message.text:
            self.complaints.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(("data:", "blob:")):
            self.hosts.add(request.url.split("/")[2])


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    require_tool("chromium")
    settings = {"group.initial.rebalance.delay.ms": "0", "num.partitions": "2"}
    with running_broker(tmp_path_factory.mktemp("console-broker"), settings) as running:
        yield running


@pytest.fixture(scope="module")
def console(broker: BrokerProcess) -> Iterator[str]:
    """The address of a console for the broker, in a process of its own."""
    listen = f"127.0.0.1:{free_port()}"
    command = [
        sys.executable,
        "-m",
        "penstock.cli.main",
        "console",
        "-b",
        broker.bootstrap,
        "--listen",
        listen,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "ready" in line, line
            yield f"http://{listen}/console/"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=require_tool("chromium"), args=sandbox)
        yield chromium
        chromium.close()


Visiting = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, console: str) -> Iterator[Visiting]:
    """Open the console in a window of its own; any error of the browser fails the test."""
    visits: list[Visit] = []

    def begin(viewport: dict[str, int] = WIDE, color_scheme: str = "light", **options: object) -> Visit:
        context = browser.new_context(
            viewport=viewport,  # type: ignore[arg-type]  # a TypedDict of Playwright's own
            color_scheme=color_scheme,  # type: ignore[arg-type]  # likewise a Literal
            **options,  # type: ignore[arg-type]
        )
        visits.append(Visit(context.new_page(), console))
        return visits[-1]

    yield begin
    for each in visits:
        each.page.context.close()
        assert each.complaints == []
        assert each.hosts <= {console.split("/")[2]}, "the console asked another host for something"


@pytest.fixture(scope="module")
def send(broker: BrokerProcess) -> Callable[..., None]:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})

    def produce(topic: str, value: bytes | str | None, **more: object) -> None:
        producer.produce(topic, value, **more)
        assert producer.flush(30) == 0

    return produce


@pytest.fixture(scope="module")
def make_topic(broker: BrokerProcess) -> Callable[..., str]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def make(name: str, partitions: int = 2) -> str:
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        return name

    return make


@pytest.fixture(scope="module")
def commit(broker: BrokerProcess) -> Callable[..., None]:
    """Commit offsets for a group without joining it."""

    def commit_offsets(group: str, topic: str, offsets: dict[int, int]) -> None:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
        places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    return commit_offsets
