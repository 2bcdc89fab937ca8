import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.errors import CommandError
from penstock.cli.parser import run_parsed
from penstock.cli.up.options import UpOptions, parse_quickly
from penstock.cli.up.serve import load_settings, parse_listeners
from penstock.config.broker import BrokerConfig
from tests.cli.conftest import COMMAND, ENVIRONMENT, TIMEOUT_SECONDS, call_command, run_command


def settings(*given: str, file: Path | None = None, **options: Any) -> BrokerConfig:
    path = None if file is None else str(file)
    return load_settings(UpOptions(settings=given, config=path, **options))


def address(config: BrokerConfig) -> str:
    (endpoint,) = config.listeners
    return f"{endpoint.name}://{endpoint.host}:{endpoint.port}"


def test_without_options_a_broker_listens_on_loopback_and_keeps_its_data_here() -> None:
    config = settings()
    assert address(config) == "PLAINTEXT://127.0.0.1:9092"
    assert config.log_dirs == ("./penstock-data",)
    assert config.node_id == 1


def test_options_win_over_set_and_set_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=5\nlog.dirs=/from/file\nlisteners=PLAINTEXT://:1000\n")
    assert settings(file=file).node_id == 5
    assert address(settings(file=file)) == "PLAINTEXT://:1000"
    assert settings("log.dirs=/from/set", file=file).log_dirs == ("/from/set",)
    config = settings("log.dirs=/from/set", listen="127.0.0.1:0", data="/from/option", node_id=7, file=file)
    assert config.log_dirs == ("/from/option",)
    assert config.node_id == 7
    assert address(config) == "PLAINTEXT://127.0.0.1:0"


def test_unknown_settings_of_the_file_are_a_log_line_each(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("zookeeper.connect=localhost:2181\nnode.id=5\nconfluent.balancer.enable=true\n")
    assert settings(file=file).node_id == 5
    assert [record.getMessage() for record in caplog.records] == [
        f"Ignored an unknown setting. file={file} name={name}"
        for name in ("zookeeper.connect", "confluent.balancer.enable")
    ]


def test_a_setting_of_kafka_without_effect_is_a_line_in_the_log_unless_it_is_at_its_default(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.network.threads=3\ncreate.topic.policy.class.name=com.example.Policy\n")
    settings("remote.log.reader.threads=4", file=file)
    assert [record.getMessage() for record in caplog.records] == [
        f"Ignored a setting: it is accepted for compatibility with Kafka, and has no effect. name={name}"
        for name in ("create.topic.policy.class.name", "remote.log.reader.threads")
    ]


def test_log_dir_in_the_file_counts_as_a_directory(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.dir=/from/file\n")
    assert settings(file=file).log_dirs == ("/from/file",)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--listen", "127.0.0.1:0", "--data", "/d", "--node-id", "7", "--config", "f"],
        ["--set", "a=1", "--set=b=2", "--data=/d", "--log-level", "debug", "--log-format=json"],
        ["--data", "/first", "--data", "/second"],
    ],
)
def test_the_quick_parser_gives_the_same_options_as_the_full_one(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[UpOptions] = []
    monkeypatch.setattr("penstock.cli.up.command.serve", served.append)
    assert run_parsed(["up", *arguments]) == 0
    assert parse_quickly(arguments) == served[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["extra"],
        ["--data"],
        ["--data", "--listen"],
        ["--node-id", "x"],
        ["--node-id=-1"],
        ["--log-level", "loud"],
        ["--log-format", "xml"],
        ["--brokers", "three"],
        ["--brokers", "0"],
    ],
)
def test_the_quick_parser_leaves_errors_and_help_to_the_full_one(arguments: list[str]) -> None:
    assert parse_quickly(arguments) is None


@pytest.mark.parametrize("listen", ["9092", "host:", "host:http", "host:65536"])
def test_an_address_without_host_and_port_is_refused(listen: str) -> None:
    with pytest.raises(CommandError, match="is not an address: write HOST:PORT"):
        parse_listeners(listen)


def test_listeners_with_names_are_taken_as_they_are() -> None:
    assert parse_listeners("A://h:1,B://h:2") == "A://h:1,B://h:2"
    assert parse_listeners("[::1]:9092") == "PLAINTEXT://[::1]:9092"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "num.partitons=3"], "Did you mean num.partitions?"),
        (["--set", "num.partitions=many"], "Invalid value many for configuration num.partitions"),
        (["--set", "num.partitions"], "write it as name=value"),
        (
            ["--config", "/no/such/file"],
            "cannot read the properties file /no/such/file: No such file or directory",
        ),
        (["--listen", "nowhere"], "--listen nowhere is not an address"),
        (["--log-level", "loud"], "--log-level"),
        (["--join", "nowhere"], "--join nowhere is not an address: write HOST:PORT of any member"),
        (
            ["--brokers", "3", "--listen", "A://h:1,B://h:2"],
            "--brokers needs --listen HOST:PORT with one address",
        ),
    ],
)
def test_a_wrong_option_is_one_line_on_standard_error(arguments: list[str], words: str) -> None:
    done = call_command("up", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, "up", "--set", "penstock.admin.listener=127.0.0.1:0", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def ready_line(broker: "subprocess.Popen[str]") -> str:
    assert broker.stdout is not None
    line = broker.stdout.readline()
    assert "ready" in line, broker.communicate(timeout=TIMEOUT_SECONDS)
    return line


def end(broker: "subprocess.Popen[str]") -> None:
    broker.kill()
    broker.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_two_lines_give_the_addresses_and_a_signal_ends_it_with_0(
    tmp_path: Path, number: signal.Signals
) -> None:
    data = tmp_path / "data"
    broker = start("--listen", "127.0.0.1:0", "--data", str(data), "--node-id", "4")
    try:
        line = ready_line(broker)
        port = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert port is not None
        assert line == f"penstock ready on 127.0.0.1:{port[1]} (node 4, data in {data})\n"
        assert broker.stdout is not None
        admin = broker.stdout.readline()
        url = re.fullmatch(r"penstock console, metrics and gateways on (http://127\.0\.0\.1:\d+)\n", admin)
        assert url is not None, admin
        with urllib.request.urlopen(f"{url[1]}/readyz", timeout=TIMEOUT_SECONDS) as answer:
            assert answer.status == 200
        assert run_command("topic", "list", "-b", f"127.0.0.1:{port[1]}").returncode == 0
        broker.send_signal(number)
        out, _ = broker.communicate(timeout=TIMEOUT_SECONDS)
        assert (broker.returncode, out) == (0, "")
    finally:
        end(broker)


def test_a_signal_that_is_sent_twice_within_a_second_still_stops_it_cleanly(tmp_path: Path) -> None:
    broker = start("--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"))
    try:
        ready_line(broker)
        # Held while they arrive, so that it finds both.
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            broker.send_signal(number)
        _, errors = broker.communicate(timeout=TIMEOUT_SECONDS)
        assert broker.returncode == 0
        assert "stopped without waiting" not in errors
    finally:
        end(broker)


def failure(*arguments: str) -> str:
    """What a broker that cannot start says: one line, and no traceback."""
    done = run_command("up", "--log-level", "error", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("penstock: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_port_in_use_is_one_line_with_a_hint(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = failure("--listen", address, "--data", str(tmp_path / "data"))
    assert address in said
    assert "--listen" in said


def test_an_admin_port_in_use_is_one_line_with_a_hint(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ("--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"))
        said = failure(*arguments, "--set", f"penstock.admin.listener={address}")
    assert address in said
    assert "--set penstock.admin.listener=" in said


def test_a_data_directory_that_another_broker_holds_is_one_line(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    broker = start("--listen", "127.0.0.1:0", "--data", data)
    try:
        ready_line(broker)
        said = failure("--listen", "127.0.0.1:0", "--data", data)
        assert data in said
    finally:
        end(broker)


def test_a_directory_that_cannot_be_one_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = failure("--listen", "127.0.0.1:0", "--data", str(tmp_path / "file" / "data"))
    assert str(tmp_path / "file") in said


def test_a_data_directory_of_another_node_is_one_line(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    broker = start("--listen", "127.0.0.1:0", "--data", data, "--node-id", "1")
    try:
        ready_line(broker)
        broker.send_signal(signal.SIGTERM)
        broker.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        end(broker)
    assert data in failure("--listen", "127.0.0.1:0", "--data", data, "--node-id", "2")
