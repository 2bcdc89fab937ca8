"""The console of a broker with SASL and ACLs, on the broker's own admin port: users have their own permissions."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.console.browser.conftest import Visit, Visiting
from tests.support.broker import BrokerProcess, free_port
from tests.support.plugin import require_tool

pytestmark = pytest.mark.xdist_group("console")

_USERS = 'username="admin" password="a" user_admin="admin-secret" user_alice="alice-secret"'


@pytest.fixture(scope="module")
def admin_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, admin_port: int) -> Iterator[BrokerProcess]:
    require_tool("chromium")
    port = free_port()
    running = BrokerProcess(
        tmp_path_factory.mktemp("guarded-broker"),
        port=port,
        arguments=["--listen", f"SASL_PLAINTEXT://127.0.0.1:{port}"],
        settings={
            "penstock.admin.listener": f"127.0.0.1:{admin_port}",
            "security.inter.broker.protocol": "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"PlainLoginModule required {_USERS};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin",
        },
    )
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def console(broker: BrokerProcess, admin_port: int) -> str:
    return f"http://127.0.0.1:{admin_port}/console/"


def _log_in(here: Visit, user: str, password: str) -> Page:
    here.page.goto(here.base)
    here.page.get_by_label("User").fill(user)
    here.page.get_by_label("Password").fill(password)
    here.page.get_by_role("button", name="Log in").click()
    return here.page


def _logged_in(here: Visit, user: str) -> Page:
    page = _log_in(here, user, f"{user}-secret")
    page.wait_for_selector("main[data-at]")
    return page


def test_a_wrong_password_is_refused_without_saying_which_part_was_wrong(visit: Visiting) -> None:
    here = visit()
    page = _log_in(here, "alice", "guessed")
    expect(page.get_by_role("alert")).to_have_text("The cluster did not accept this user and password.")
    here.picture("login")
    assert page.context.cookies() == []


def test_a_login_is_kept_in_a_cookie_that_scripts_cannot_read_and_ends_with_the_logout(
    visit: Visiting,
) -> None:
    here = visit()
    page = _logged_in(here, "alice")
    [cookie] = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/console")
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    kept = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    assert page.request.get(f"{here.base}api/topics", headers=kept).status == 401


def test_a_session_that_has_ended_leads_back_to_the_login(visit: Visiting) -> None:
    page = _logged_in(visit(), "alice")
    page.context.clear_cookies()
    page.get_by_role("link", name="Topics").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def test_acls_apply_in_the_console_and_are_granted_there(visit: Visiting) -> None:
    owner, guest = visit(), visit()
    page = _logged_in(owner, "admin")
    owner.open("#/topics")
    page.get_by_role("button", name="Create topic").click()
    page.get_by_label("Name", exact=True).fill("ledger")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name="ledger")).to_be_visible()

    seen = _logged_in(guest, "alice")
    guest.open("#/topics")
    expect(seen.get_by_text("No topics yet")).to_be_visible()
    seen.get_by_role("button", name="Create topic").click()
    seen.get_by_label("Name", exact=True).fill("mine")
    seen.get_by_role("button", name="Create", exact=True).click()
    expect(seen.get_by_role("alert")).to_contain_text("you are not allowed to")
    guest.close_dialog()

    owner.open("#/acls")
    page.get_by_role("button", name="Create ACL").click()
    page.get_by_label("Principal").fill("User:alice")
    page.get_by_label("Name", exact=True).fill("led")
    page.get_by_label("Pattern type").select_option("PREFIXED")
    page.get_by_role("button", name="Create", exact=True).click()
    row = page.get_by_role("table", name="ACLs").locator("tbody tr")
    expect(row).to_contain_text("User:alice")
    owner.picture("acls")

    guest.open("#/topics/ledger")
    expect(seen.get_by_role("heading", name="ledger")).to_be_visible()
    seen.get_by_role("button", name="Produce message").click()
    seen.get_by_role("button", name="Produce", exact=True).click()
    expect(seen.get_by_role("alert")).to_contain_text("you are not allowed to")

    page.get_by_role("button", name="Delete the ACL of User:alice").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No ACLs.")).to_be_visible()
    seen.reload()
    expect(seen.get_by_role("alert")).to_contain_text("cannot be shown")


def test_a_query_reads_what_its_user_may_read(visit: Visiting, broker: BrokerProcess) -> None:
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "admin-secret"}
    config = {"bootstrap.servers": broker.bootstrap, "security.protocol": "SASL_PLAINTEXT", **login}
    producer = Producer(config)
    admin = AdminClient(config)
    admin.create_topics([NewTopic("salaries", 1)])["salaries"].result(20)
    producer.produce("salaries", b'{"name": "bob", "salary": 7}')
    assert producer.flush(20) == 0
    for user in ("alice", "admin"):
        here = visit()
        page = _logged_in(here, user)
        page.goto(f"{here.base}#/sql")
        page.get_by_label("Query").fill("SELECT name, salary FROM salaries")
        page.get_by_role("button", name="Run").click()
        if user == "alice":
            expect(page.get_by_role("alert")).to_contain_text("TOPIC_AUTHORIZATION_FAILED")
        else:
            expect(page.get_by_role("table", name="Rows")).to_contain_text("bob7")
