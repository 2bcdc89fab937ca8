"""PostgreSQL, Kafka Connect with Debezium, and Apicurio's registry, each a process of its own."""

import contextlib
import json
import os
import pwd
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.broker import free_port
from tools.setup_debezium import CONNECT_JARS, CONVERTER_JARS, REGISTRY, postgres_programs

_DEADLINE_S = 600.0
_POLL_S = 0.25
_POSTGRES_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "fsync": "off",
}


class Postgres:
    """A server with an empty database; its programs refuse to run as root."""

    def __init__(self, directory: Path) -> None:
        programs = postgres_programs()
        assert programs is not None, "there is no PostgreSQL: run `python -m tools.setup_debezium`"
        self._programs = programs
        self.port = free_port()
        self._data = directory / "postgres"
        self._data.mkdir()
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self._data, account.pw_uid, account.pw_gid)
            directory.chmod(0o711)
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "postgres")
        settings = {**_POSTGRES_SETTINGS, "unix_socket_directories": str(self._data), "port": str(self.port)}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        log = str(self._data / "log")
        self._run("pg_ctl", "-D", str(self._data), "-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", "fast", "-w", "stop")

    def execute(self, sql: str) -> str:
        """Run SQL as one script; return the rows, one per line, with tabs."""
        command = ["psql", "-qAt", "-F\t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"]
        done = subprocess.run(
            [*command, "-p", str(self.port)], input=sql, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, query: str) -> list[dict[str, Any]]:
        lines = self.execute(f"SELECT row_to_json(found) FROM ({query}) found;").splitlines()
        return [json.loads(line) for line in lines]

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            user=self._user,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            cwd=self._data,
        )


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Run a server in a directory of its own: its user cannot enter pytest's."""
    with tempfile.TemporaryDirectory() as directory:
        server = Postgres(Path(directory))
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def running_connect(
    directory: Path, bootstrap: str, postgres: Postgres, converter: Mapping[str, str], **connector: str
) -> Iterator[None]:
    """Kafka Connect with one connector, which sends changes of the database to topics `shop.…`."""
    directory.mkdir(parents=True, exist_ok=True)
    worker = {
        "bootstrap.servers": bootstrap,
        "offset.storage.file.filename": str(directory / "offsets"),
        "offset.flush.interval.ms": "200",
        "listeners": f"http://127.0.0.1:{free_port()}",
        **converter,
    }
    settings = {
        "name": "shop",
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(postgres.port),
        "database.user": "postgres",
        "database.password": "none",
        "database.dbname": "postgres",
        "topic.prefix": "shop",
        "plugin.name": "pgoutput",
        "slot.name": "penstock",
        "schema.include.list": "public",
        "skipped.operations": "none",  # the default skips truncates
        "poll.interval.ms": "50",
        **connector,
    }
    files = []
    for name, content in (("worker", worker), ("connector", settings)):
        file = directory / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in content.items()))
        files.append(str(file))
    jars = [CONNECT_JARS, *([CONVERTER_JARS] if "io.apicurio" in str(converter) else [])]
    path = ":".join(f"{each}/*" for each in jars)
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    command = ["java", "-Xmx512m", "-cp", path, main, *files]
    with _running(command, directory / "connect.log"):
        yield


@contextlib.contextmanager
def running_registry(directory: Path) -> Iterator[str]:
    """Apicurio's registry, in memory; yields the address of its Confluent interface."""
    directory.mkdir(parents=True, exist_ok=True)
    (jar,) = REGISTRY.glob("*-runner.jar")
    port = free_port()
    address = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    options = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}", "-Xmx512m"]
    libraries = f"{jar}:{REGISTRY}/lib/*"
    command = ["java", *options, "-cp", libraries, "io.quarkus.runner.GeneratedMain"]
    with _running(command, directory / "registry.log") as process:
        await_that(lambda: _answers(f"{address}/subjects"), process)
        yield address


def await_that(condition: Any, process: "subprocess.Popen[bytes] | None" = None) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while not condition():
        assert process is None or process.poll() is None, f"{process.args!r} ended"
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(_POLL_S)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


@contextlib.contextmanager
def _running(command: list[str], log_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=log_path.parent)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
