import socket
import socketserver
import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.cli.connect.librdkafka import on_error
from penstock.cli.connect.settings import parse_pairs
from penstock.cli.connect.target import check_reachable
from penstock.cli.connect.topics import fetch_metadata
from penstock.cli.errors import CommandError
from penstock.cli.main import run

COMMANDS = [
    ["topic", "list"],
    ["topic", "create", "t"],
    ["produce", "t"],
    ["consume", "t"],
    ["config", "describe", "topic", "t"],
]


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def lines_about(address: str, shown: str) -> list[str]:
    """All lines but those of librdkafka about clients that earlier tests of this process have left."""
    return [line for line in shown.splitlines() if not line.startswith("%") or address in line]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unreachable_broker_is_one_line_with_a_hint(
    command: list[str], closed_port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--bootstrap-server", f"127.0.0.1:{closed_port}"]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    (printed,) = lines_about(f"127.0.0.1:{closed_port}", captured.err)
    assert printed == (
        f"penstock: no broker at 127.0.0.1:{closed_port} (connection refused): start one with `penstock up`, "
        "or say where it is with --bootstrap-server HOST:PORT"
    )


def test_one_of_several_addresses_is_enough(closed_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        check_reachable(f"127.0.0.1:{closed_port}, 127.0.0.1:{listening.getsockname()[1]}")


@pytest.mark.parametrize("address", ["", "host:", "host:abc", "host:70000", ":9092"])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(CommandError, match="is not an address: write HOST:PORT"):
        check_reachable(address)


def test_a_port_that_speaks_another_protocol_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("penstock.cli.connect.librdkafka.REQUEST_TIMEOUT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        assert run(["topic", "list", "-b", address]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    (printed,) = lines_about(address, captured.err)
    assert printed.startswith("penstock: the broker does not answer as one (")


def test_a_refused_login_is_reported_after_the_first_short_request() -> None:
    class Refused:
        """A client whose login failed: requests time out, and `poll` reports why."""

        def __init__(self) -> None:
            self.timeouts: list[float] = []

        def list_topics(self, *, timeout: float) -> object:
            self.timeouts.append(timeout)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

        def poll(self, _timeout: float) -> None:
            on_error(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))

    client = Refused()
    with pytest.raises(CommandError, match=r"the broker refuses this client \(wrong password\)"):
        fetch_metadata(client)
    assert client.timeouts == [0.5]


def test_an_unknown_client_setting_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        assert run(["topic", "list", "-b", address, "-X", "no.such.setting=1"]) == 2
    (printed,) = lines_about(address, capfd.readouterr().err)
    assert "no.such.setting" in printed


def test_settings_are_split_at_the_first_equals_sign() -> None:
    assert parse_pairs(["a=b=c", "d="], "--config") == {"a": "b=c", "d": ""}
    with pytest.raises(CommandError, match="--config 'a' is not a setting: write it as KEY=VALUE"):
        parse_pairs(["a"], "--config")


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("security.protocol=PLAINTEXT", "it speaks another protocol"), ("security.protocol=SSL", "SSL")],
)
def test_a_port_of_another_protocol_is_reported_long_before_the_timeout(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], setting: str, reason: str
) -> None:
    monkeypatch.setattr("penstock.cli.connect.librdkafka.REQUEST_TIMEOUT_S", 600.0)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1024)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        assert run(["topic", "list", "--bootstrap-server", address, "-X", setting]) == 1
        server.shutdown()
    (printed,) = lines_about(address, capfd.readouterr().err)
    assert reason in printed
    assert "security.protocol" in printed
