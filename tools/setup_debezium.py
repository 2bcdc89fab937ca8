"""Fetch Debezium for PostgreSQL with Maven for `make interop-debezium`, with Kafka Connect, and Apicurio's registry and
its converter for Avro. PostgreSQL itself is Debian's package.

What cannot be had is named and left out; its tests then report that they were not run.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

from tools.setup_peers import PEERS, fetch_jars

DEBEZIUM: Final = "3.3.1.Final"
CONNECT: Final = "4.1.1"
APICURIO: Final = "2.6.13.Final"
CONNECT_JARS: Final = PEERS / f"debezium-{DEBEZIUM}"
CONVERTER_JARS: Final = PEERS / f"apicurio-converter-{APICURIO}"
REGISTRY: Final = PEERS / f"apicurio-registry-{APICURIO}"
_ARTIFACTS: Final = (
    f"io.debezium:debezium-connector-postgres:{DEBEZIUM}",
    f"org.apache.kafka:connect-runtime:{CONNECT}",
    f"org.apache.kafka:connect-json:{CONNECT}",
)
_TIMEOUT_S: Final = 600


def postgres_programs() -> Path | None:
    """Return the directory of initdb and postgres; None if there are none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def main() -> int:
    PEERS.mkdir(exist_ok=True)
    _get_postgres()
    if not shutil.which("mvn") or not shutil.which("java"):
        print("Java or Maven is missing: the tests with Debezium will say that they were not run")
        return 0
    _get(f"Debezium {DEBEZIUM}", CONNECT_JARS, _ARTIFACTS)
    converter = f"io.apicurio:apicurio-registry-utils-converter:{APICURIO}"
    _get(f"Apicurio's converter {APICURIO}", CONVERTER_JARS, (converter,))
    _get_registry()
    return 0


def _get(what: str, jars: Path, artifacts: tuple[str, ...]) -> None:
    if jars.is_dir():
        print(f"{what} is there")
    elif fetch_jars(jars, artifacts):
        print(f"took {what}")
    else:
        print(f"Maven did not give {what}: its tests will say that they were not run")


def _get_registry() -> None:
    if REGISTRY.is_dir():
        print(f"Apicurio's registry {APICURIO} is there")
        return
    half_done = PEERS / f"{REGISTRY.name}.part"
    shutil.rmtree(half_done, ignore_errors=True)
    command = [
        *("mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"),
        f"-Dartifact=io.apicurio:apicurio-registry-app:{APICURIO}:tar.gz:all",
        f"-DoutputDirectory={half_done}",
    ]
    if subprocess.run(command, timeout=_TIMEOUT_S, check=False, capture_output=True).returncode:
        print("Maven did not give Apicurio's registry: its tests will say that they were not run")
        return
    (archive,) = half_done.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        content.extractall(half_done, filter="data")
    archive.unlink()
    half_done.rename(REGISTRY)
    print(f"took Apicurio's registry {APICURIO}")


def _get_postgres() -> None:
    if postgres_programs() is not None:
        print("PostgreSQL is there")
    elif not shutil.which("apt-get") or os.geteuid() != 0:
        print("PostgreSQL is missing: install it with the system's packages")
    else:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"]
        subprocess.run(command, env=environment, timeout=_TIMEOUT_S, check=False, capture_output=True)
        print("took PostgreSQL" if postgres_programs() is not None else "apt gave no PostgreSQL")


if __name__ == "__main__":
    sys.exit(main())
