"""docs/differences.md from the rows of `differences`: `python -m tests.interop.answers.page` writes it."""

from itertools import groupby
from pathlib import Path
from typing import Final

from tests.interop.answers import recorded
from tests.interop.answers.differences import INTENDED

PATH: Final = Path(__file__).parents[3] / "docs" / "differences.md"

_HEAD: Final = """# Differences to Kafka

Apache Kafka 4.3.1 was asked {count} questions, at least one in every version of every API that its brokers serve, and
its answers were recorded. A test asks Penstock the same and compares the answers field by field. This page lists every
difference that remains, and the test fails when there is one that is not listed, or one listed that is gone. The words
of error messages are not compared.

The tables are written by `python -m tests.interop.answers.page` from `tests/interop/answers/differences.py`.
"""
_FOOT: Final = """
## What answers do not show

- At `metadata.version` 30 the records of brokers have Kafka's form with a place for cordoned directories (KIP-1066),
  which stays empty: `cordoned.log.dirs` has no effect.
- `metadata.version` 26 to 29 change no record, neither here nor in Kafka.
- FindCoordinator waits, for five seconds at most, until the broker that it names has loaded the partition; then it
  answers COORDINATOR_NOT_AVAILABLE. In Kafka a client may be sent to a broker that answers NOT_COORDINATOR for a
  moment.
- A broker asks for a proof of the cluster's secret before it answers what only brokers may ask
  ([security](security.md)).
- Settings that only one of the two has, and settings that are taken without effect, are listed in
  [configuration](configuration.md).
"""


def render() -> str:
    parts = [_HEAD.format(count=f"{len(recorded.read()):,}")]
    for section, rows in groupby(INTENDED, key=lambda each: each.section):
        parts.append(f"\n## {section}\n\n| where | Kafka 4.3.1 | Penstock | why |\n|---|---|---|---|\n")
        parts += [f"| {each.where} | {each.kafka} | {each.penstock} | {each.reason} |\n" for each in rows]
    return "".join([*parts, _FOOT])


if __name__ == "__main__":
    PATH.write_text(render())
