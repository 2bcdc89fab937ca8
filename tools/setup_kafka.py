"""Fetch releases of Apache Kafka with Maven for `make interop-kafka`: brokers and tools, into `.peers/kafka-<release>`.

MirrorMaker of the newest release comes too. A release that cannot be had is named and left out; its tests then report
that they were not run.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

from tools.setup_peers import PEERS, fetch_kafka

RELEASES: Final = ("4.3.1", "4.2.0", "4.1.1", "4.0.1")
NEWEST: Final = RELEASES[0]
_SERVER: Final = ("kafka_2.13",)
_SERVER_AND_TOOLS: Final = (*_SERVER, "kafka-tools")
_MIRROR_MAKER: Final = ("connect-mirror", "connect-runtime")


def kafka_jars(release: str) -> Path:
    """The directory of a release's jars, which may not be there."""
    return PEERS / f"kafka-{release}"


def mirror_maker_jars() -> Path:
    """The directory of MirrorMaker's jars, which may not be there."""
    return PEERS / f"mirrormaker-{NEWEST}"


def main() -> int:
    if not shutil.which("mvn") or not shutil.which("java"):
        print("Java or Maven is missing: the tests with Apache Kafka will say that they were not run")
        return 0
    PEERS.mkdir(exist_ok=True)
    for release in RELEASES:
        artifacts = _SERVER_AND_TOOLS if release == NEWEST else _SERVER
        _get(f"Apache Kafka {release}", release, kafka_jars(release), artifacts)
    _get(f"MirrorMaker {NEWEST}", NEWEST, mirror_maker_jars(), _MIRROR_MAKER)
    return 0


def _get(what: str, release: str, jars: Path, artifacts: tuple[str, ...]) -> None:
    if jars.is_dir():
        print(f"{what} is there")
    elif fetch_kafka(release, jars, artifacts):
        print(f"took {what}")
    else:
        print(f"Maven did not give {what}: its tests will say that they were not run")


if __name__ == "__main__":
    sys.exit(main())
