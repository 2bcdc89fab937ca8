from pathlib import Path
from typing import Any

import pytest

from penstock.cli.errors import CommandError
from penstock.cli.main import run
from penstock.cli.parser import run_parsed
from penstock.cli.serve import UpOptions, listeners_of, load_settings, quick_options
from penstock.config.broker import BrokerConfig


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
def test_the_quick_parser_reads_what_the_full_one_reads(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[UpOptions] = []
    monkeypatch.setattr("penstock.cli.up.serve", served.append)
    assert run_parsed(["up", *arguments]) == 0
    assert quick_options(arguments) == served[0]


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
        ["--join", "h:1"],
        ["--brokers", "3"],
    ],
)
def test_the_quick_parser_leaves_what_is_odd_to_the_full_one(arguments: list[str]) -> None:
    assert quick_options(arguments) is None


@pytest.mark.parametrize("listen", ["9092", "host:", "host:http", "host:65536"])
def test_an_address_without_host_and_port_is_refused(listen: str) -> None:
    with pytest.raises(CommandError, match="is not an address: write HOST:PORT"):
        listeners_of(listen)


def test_listeners_with_names_are_taken_as_they_are() -> None:
    assert listeners_of("A://h:1,B://h:2") == "A://h:1,B://h:2"
    assert listeners_of("[::1]:9092") == "PLAINTEXT://[::1]:9092"


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
        (["--join", "127.0.0.1:9092"], "--join is not there yet"),
        (["--brokers", "3"], "--brokers is not there yet"),
    ],
)
def test_what_cannot_be_started_is_one_line_on_standard_error(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["up", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1
