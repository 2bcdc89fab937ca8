"""The container files, without a container engine: their content is checked, and their steps are run."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from penstock.cli.up.options import parse_quickly
from penstock.cli.up.serve import load_settings
from penstock.config.broker import BrokerConfig
from penstock.gateway.http.listener import chosen_listener, is_open
from tests.support.broker import BrokerProcess, free_port

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
SERVICES = {
    f"{path.name}:{name}": service
    for path in sorted(DOCKER.glob("compose*.yml"))
    for name, service in yaml.safe_load(path.read_text())["services"].items()
}


def test_the_linter_accepts_the_dockerfile() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_does_not_run_as_root() -> None:
    (user,) = re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE)
    assert user.partition(":")[0] not in ("root", "0")


def test_there_are_compose_files_for_one_broker_and_for_three() -> None:
    assert [name.partition(":")[0] for name in SERVICES] == ["compose.cluster.yml"] * 3 + ["compose.yml"]


@pytest.mark.parametrize("name", SERVICES)
def test_the_command_of_a_service_is_valid(name: str) -> None:
    service = SERVICES[name]
    options = parse_quickly(service["command"][1:])
    assert options is not None, "the command line is not in order"
    settings = load_settings(options)
    assert settings.advertised_listeners is not None, (
        "clients outside must be told an address that they can reach"
    )
    listened = {str(endpoint.port) for endpoint in settings.listeners} | {"9644"}
    assert {port.rpartition(":")[2] for port in service["ports"]} <= listened


def default_settings() -> BrokerConfig:
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    options = parse_quickly(json.loads(command)[1:])
    assert options is not None, "the command line is not in order"
    return load_settings(options)


def test_the_default_command_of_the_image_is_valid() -> None:
    assert [each.port for each in default_settings().listeners] == [9092]


def test_the_default_command_does_not_open_the_console_to_the_network_without_a_login() -> None:
    settings = default_settings()
    has_login = chosen_listener(settings).security_protocol.startswith("SASL_")
    assert has_login or not is_open(settings)


@pytest.mark.parametrize("name", SERVICES)
def test_the_admin_port_of_a_service_is_published_on_the_loopback_interface_only(name: str) -> None:
    published = [port for port in SERVICES[name]["ports"] if port.endswith(":9644")]
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_health_check_distinguishes_a_running_broker_from_none(tmp_path: Path) -> None:
    (check,) = re.findall(r"CMD (\[.*readyz.*\])", DOCKERFILE)
    admin = free_port()
    broker = BrokerProcess(tmp_path, settings={"penstock.admin.listener": f"127.0.0.1:{admin}"})
    broker.start()
    program = json.loads(check)[-1].replace("9644", str(admin))
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    broker.stop()
    gone = subprocess.run([sys.executable, "-c", program], stderr=subprocess.DEVNULL, check=False)
    assert gone.returncode != 0


@pytest.mark.soak
def test_the_steps_of_the_image_work_in_a_clean_environment(tmp_path: Path) -> None:
    """Only what the Dockerfile copies, only what the package itself asks for."""
    lines = re.findall(r"^COPY (?!--from)(.*) \./.*$", DOCKERFILE, re.MULTILINE)
    copied = [word for line in lines for word in line.split()]
    source = tmp_path / "src"
    source.mkdir()
    for name in copied:
        subprocess.run(["cp", "-r", ROOT / name, source], check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv/bin/python")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([python, "-m", "pip", "install", "--quiet", "."], cwd=source, env=environment, check=True)
    command = f"{tmp_path / 'venv/bin/penstock'} up --listen 127.0.0.1:0 --data {tmp_path / 'data'}"
    with subprocess.Popen(
        shlex.split(command), cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        process.terminate()
