"""`python -m tests.interop.kafka.record_directory`: write `tests/interop/recorded/kafka.tar.xz` with Apache Kafka.

The archive is the data directory of a node that was stopped cleanly, `kafka.json` what its clients read from it.
`make test` opens it without Java.
"""

import subprocess
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from tests.interop.kafka.content import Writer, read
from tests.support.kafka_node import KafkaNode
from tools.setup_kafka import NEWEST, kafka_jars

RECORDED: Final = Path(__file__).parents[1] / "recorded"
ARCHIVE: Final = RECORDED / "kafka.tar.xz"
CONTENTS: Final = RECORDED / "kafka.json"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kafka-") as directory:
        node = KafkaNode(Path(directory), kafka_jars(NEWEST))
        node.format()
        node.start()
        try:
            writer = Writer(node.bootstrap)
            writer.write()
            contents = read(node.bootstrap)
            writer.close()
        finally:
            node.terminate()
        RECORDED.mkdir(exist_ok=True)
        CONTENTS.write_bytes(msgspec.json.encode(contents))
        tar = [
            "tar",
            "--sparse",
            "--sort=name",
            "--owner=0",
            "--group=0",
            "-C",
            directory,
            "-cJf",
            str(ARCHIVE),
            "data",
        ]
        subprocess.run(tar, check=True)
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size} bytes, {CONTENTS.name}: {CONTENTS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
