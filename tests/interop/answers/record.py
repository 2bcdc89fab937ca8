"""Ask a Kafka from `.peers` and keep its answers: `python -m tests.interop.answers.record`."""

import sys
import tempfile
import time
from pathlib import Path

from penstock_bench.peers.servers.kafka import KafkaServer
from penstock_bench.peers.servers.running import free_port
from tests.interop.answers.asking import Asker
from tests.interop.answers.recorded import write
from tests.interop.answers.scenarios import SCENARIOS

_SERVES_AFTER_S = 5  # its port is open before it serves
_SETTLES_WITHIN_S = 0.1


def main() -> int:
    server = KafkaServer()
    if missing := server.missing():
        print(f"{server.name}: {missing}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        running = server.start(directory, str(Path(directory) / "kafka.log"), free_port())
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
