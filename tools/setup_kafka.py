"""Fetch releases of Apache Kafka with Maven for `make interop-kafka`: brokers and tools, into `.peers/kafka-<release>`.

A release that cannot be had is named and left out; its tests then report that they were not run.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.setup_peers import PEERS, pom

RELEASES: Final = ("4.3.1", "4.2.0", "4.1.1", "4.0.1")
NEWEST: Final = RELEASES[0]
_TIMEOUT_S: Final = 600


def kafka_jars(release: str) -> Path:
    """The directory of a release's jars, which may not be there."""
    return PEERS / f"kafka-{release}"


def main() -> int:
    if not shutil.which("mvn") or not shutil.which("java"):
        print("Java or Maven is missing: the tests with Apache Kafka will say that they were not run")
        return 0
    PEERS.mkdir(exist_ok=True)
    for release in RELEASES:
        if kafka_jars(release).is_dir():
            print(f"Apache Kafka {release} is there")
        elif _fetch(release):
            print(f"took Apache Kafka {release}")
        else:
            print(f"Maven did not give Apache Kafka {release}: its tests will say that they were not run")
    return 0


def _fetch(release: str) -> bool:
    half_done = PEERS / f"kafka-{release}.part"
    shutil.rmtree(half_done, ignore_errors=True)
    project = PEERS / f"kafka-{release}.xml"
    project.write_text(pom(release, with_tools=True))
    command = [
        "mvn",
        "-q",
        "-B",
        "-f",
        str(project),
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
    ]
    try:
        done = subprocess.run(
            [*command, f"-DoutputDirectory={half_done}"],
            env=dict(os.environ),
            timeout=_TIMEOUT_S,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode:
        return False
    half_done.rename(kafka_jars(release))
    return True


if __name__ == "__main__":
    sys.exit(main())
