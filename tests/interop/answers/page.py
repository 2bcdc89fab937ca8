"""docs/differences.md from the rows of `differences`: `python -m tests.interop.answers.page` writes it."""

from itertools import groupby
from pathlib import Path
from typing import Final

from tests.interop.answers import recorded
from tests.interop.answers.differences import INTENDED

PATH: Final = Path(__file__).parents[3] / "docs" / "differences.md"

_HEAD: Final = """# Differences from Kafka

{count} requests were sent to Apache Kafka 4.3.1, at least one in every version of every API that its brokers serve, and
its responses were recorded. A test sends the same requests to Penstock and compares the responses field by field. This
page lists all differences. The test fails if it finds a difference that is not listed here, or does not find one that
is. The texts of error messages are not compared.

The tables are written by `python -m tests.interop.answers.page` from `tests/interop/answers/differences.py`.
"""
_FOOT: Final = """
## Differences that responses do not show

- At `metadata.version` 30 the records of brokers have Kafka's field for cordoned directories (KIP-1066), which stays
  empty: `cordoned.log.dirs` has no effect.
- `metadata.version` 26 to 29 change no record, neither here nor in Kafka.
- FindCoordinator waits for five seconds at most until the broker that it names has loaded the partition; after that it
  responds with COORDINATOR_NOT_AVAILABLE. In Kafka a client may be sent to a broker that responds with NOT_COORDINATOR
  for a moment.
- A broker requires a proof of the cluster's secret for requests that only brokers may send ([security](security.md)).
- [Configuration](configuration.md) lists the settings that only one of the two has, and settings without effect.
"""


def render() -> str:
    parts = [_HEAD.format(count=f"{len(recorded.read()):,}")]
    for section, rows in groupby(INTENDED, key=lambda each: each.section):
        parts.append(f"\n## {section}\n\n| where | Kafka 4.3.1 | Penstock | why |\n|---|---|---|---|\n")
        parts += [f"| {each.where} | {each.kafka} | {each.penstock} | {each.reason} |\n" for each in rows]
    return "".join([*parts, _FOOT])


if __name__ == "__main__":
    PATH.write_text(render())
