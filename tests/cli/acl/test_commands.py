"""`penstock acl` against a broker with ACLs, where what no ACL is about is open to all."""

import json
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli.errors import EXIT_FAILED, EXIT_USAGE
from penstock.cli.main import run
from penstock.security.acl_authorizer import STANDARD_AUTHORIZER
from tests.cli.conftest import Penstock, run_command
from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker

TIMEOUT_SECONDS = 20
Acl = Callable[..., str]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    with running_broker(tmp_path_factory.mktemp("guarded"), settings) as broker:
        yield broker


@pytest.fixture
def acl(guarded: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> Acl:
    """Run `penstock acl` in this process; gives what it prints, or the line it fails with."""

    def command(*arguments: str, exit_code: int = 0) -> str:
        assert run(["acl", *arguments, "--bootstrap-server", guarded.bootstrap]) == exit_code
        printed = capsys.readouterr()
        return printed.err if exit_code else printed.out

    return command


@pytest.fixture
def topic(guarded: BrokerProcess) -> str:
    name = f"acl-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": guarded.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_SECONDS)
    return name


def test_acls_are_added_listed_and_removed(acl: Acl, topic: str) -> None:
    added = acl("add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", topic)
    assert added == f"added: User:alice may read topic {topic}\n"
    acl(
        *("add", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--topic", topic[:8]),
        *("--resource-pattern-type", "prefixed"),
    )
    listed = json.loads(acl("list", "--topic", topic, "--json"))
    assert [(e["principal"], e["pattern"], e["host"], e["operation"], e["permission"]) for e in listed] == [
        ("User:bob", "prefixed", "10.0.0.1", "all", "deny"),
        ("User:alice", "literal", "*", "read", "allow"),
    ]
    assert (
        json.loads(acl("list", "--topic", topic, "--resource-pattern-type", "literal", "--json"))
        == listed[1:]
    )
    assert "User:alice" in acl("list", "--principal", "User:alice")
    removed = acl("remove", "--topic", topic, "--resource-pattern-type", "match")
    assert sorted(removed.splitlines()) == [
        f"removed: User:alice may read topic {topic}",
        f"removed: User:bob from 10.0.0.1 may not do anything to topics that begin with {topic[:8]}",
    ]
    assert acl("list", "--topic", topic) == "no such ACLs\n"
    failed = acl("remove", "--topic", topic, exit_code=EXIT_FAILED)
    assert failed == "penstock: no ACL matches; `penstock acl list` lists them\n"


def test_an_acl_is_printed_as_a_sentence(acl: Acl) -> None:
    options = ("--deny-principal", "User:mallory", "--group", "*")
    assert acl("add", *options) == "added: User:mallory may not do anything to any group\n"
    acl("remove", *options)


def test_the_acls_of_a_consumer_are_added_and_removed_in_one_command(acl: Acl, topic: str) -> None:
    options = ("--allow-principal", "User:c", "--consumer", "--topic", topic, "--group", topic)
    assert len(acl("add", *options).splitlines()) == 3
    assert len(acl("remove", *options).splitlines()) == 3


def test_a_mistake_is_one_line(acl: Acl) -> None:
    assert acl("add", "--topic", "x", exit_code=EXIT_USAGE).startswith("penstock: say who:")
    assert acl("remove", exit_code=EXIT_USAGE) == "penstock: say which ACLs: name a principal or a resource\n"


def test_without_an_authorizer_the_error_names_the_setting(penstock: Penstock) -> None:
    for arguments in (["list"], ["add", "--allow-principal", "User:a", "--topic", "t"]):
        assert "set authorizer.class.name to use" in penstock("acl", *arguments, fails=True).stderr


def test_a_user_who_may_not_list_acls_gets_an_error_and_not_an_empty_list(acl: Acl) -> None:
    acl("add", "--allow-principal", "User:ANONYMOUS", "--cluster")
    acl("add", "--deny-principal", "User:ANONYMOUS", "--operation", "describe", "--cluster")
    try:
        failed = acl("list", exit_code=EXIT_FAILED)
    finally:
        acl("remove", "--deny-principal", "User:ANONYMOUS", "--cluster")
        acl("remove", "--allow-principal", "User:ANONYMOUS", "--cluster")
    assert failed.startswith(
        "penstock: cannot list ACLs: this user may not describe the cluster. Use another user"
    )


@pytest.fixture
def no_writing(acl: Acl, topic: str) -> Iterator[None]:
    """No user may write any topic. This one may change ACLs, but not use an idempotent producer."""
    rules = (
        (
            "--allow-principal",
            "User:ANONYMOUS",
            "--operation",
            "alter",
            "--operation",
            "describe",
            "--cluster",
        ),
        ("--allow-principal", "User:ANONYMOUS", "--operation", "describe", "--topic", topic),
        ("--deny-principal", "User:ANONYMOUS", "--operation", "write", "--topic", "*"),
    )
    for rule in rules:
        acl("add", *rule)
    yield
    for rule in reversed(rules):
        acl("remove", *rule)


@pytest.mark.usefixtures("no_writing")
@pytest.mark.parametrize("options", [(), ("--acks", "1")])
def test_a_user_who_may_not_write_gets_the_command_that_allows_it(
    guarded: BrokerProcess, topic: str, options: tuple[str, ...]
) -> None:
    lines = "a\nb\nc\n"
    done = run_command("produce", topic, *options, "--bootstrap-server", guarded.bootstrap, stdin=lines)
    assert done.returncode == EXIT_FAILED, done.stderr
    assert done.stdout == f"0 record(s) acknowledged in topic {topic}\n", done.stderr
    assert done.stderr.startswith("penstock: 3 record(s) were not acknowledged: "), done
    assert f"this user may not write to topic {topic}" in done.stderr
    assert f"`penstock acl add --allow-principal User:NAME --producer --topic {topic}`" in done.stderr
    assert done.stderr.count("\n") == 1
