"""Ask a Kafka from `.peers` and keep its answers: `python -m tests.interop.answers.record`."""

import sys
import tempfile
import time
from pathlib import Path

from penstock_bench.peers.cluster import Cluster, Site
from penstock_bench.peers.products.kafka import Kafka
from tests.interop.answers.asking import Asker
from tests.interop.answers.recorded import write
from tests.interop.answers.scenarios import SCENARIOS

_SERVES_AFTER_S = 5  # its port is open before it serves
_SETTLES_WITHIN_S = 0.1


def main() -> int:
    server = Kafka("Apache Kafka")
    if missing := server.missing():
        print(f"{server.name}: {missing}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        running = Cluster(server, Site(directory, lambda name: str(Path(directory) / name), 1))
        try:
            time.sleep(_SERVES_AFTER_S)
            asker = Asker(running.address, settle_s=_SETTLES_WITHIN_S)
            for ask_all in SCENARIOS.values():
                ask_all(asker)
            asker.close()
        finally:
            running.stop()
    write(asker.answers)
    print(f"{len(asker.answers)} answers of {server.version()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
