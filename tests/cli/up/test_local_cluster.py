"""Several brokers on one host."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.up.local_cluster import broker_options
from penstock.cli.up.options import UpOptions


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((), [[], ["penstock.admin.listener=127.0.0.1:0"], ["penstock.admin.listener=127.0.0.1:0"]]),
        (
            ("penstock.admin.listener=0.0.0.0:8000",),
            [[], ["penstock.admin.listener=0.0.0.0:8001"], ["penstock.admin.listener=0.0.0.0:8002"]],
        ),
        (
            ("penstock.admin.listener=127.0.0.1:0",),
            [[], ["penstock.admin.listener=127.0.0.1:0"], ["penstock.admin.listener=127.0.0.1:0"]],
        ),
        (("penstock.admin.listener=",), [[], [], []]),
    ],
)
def test_each_broker_has_an_admin_port_of_its_own(
    settings: tuple[str, ...], expected: list[list[str]]
) -> None:
    options = UpOptions(settings=settings, brokers=3)
    found = [broker_options(options, number, []).settings[len(settings) :] for number in range(3)]
    assert [list(each) for each in found] == expected


def test_no_broker_outlives_the_process_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock.cli.main", "up", "--brokers", "2", "--listen", "127.0.0.1:0"]
    command += ["--data", str(tmp_path), "--set", "penstock.admin.listener="]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        ports = re.findall(r"127\.0\.0\.1:(\d+)", parent.stdout.readline())
        clients = [socket.create_connection(("127.0.0.1", int(port)), timeout=60) for port in ports]
        parent.kill()
    assert [client.recv(1) for client in clients] == [b"", b""]  # as of a broker that stops
    for client in clients:
        client.close()
