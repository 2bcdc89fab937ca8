"""The configuration reference in docs/configuration.md, written from the table.

Run `python -m penstock.config.reference > docs/configuration.md` after a change; a test keeps the two together.
"""

import sys
from collections.abc import Iterator

from penstock.config.property import LONG_MAX, Property, render
from penstock.config.section import Section
from penstock.config.settings import client_metrics, group, topic
from penstock.config.table import BROKER_SECTIONS

_INTRODUCTION = """\
# Configuration

Written from the property table in `src/penstock/config`; do not edit by hand.

A broker reads a `.properties` file (`--config FILE`) and `--set name=value`, which wins. Names, meanings and defaults
are Kafka's unless a row says otherwise. *Update* says how a setting changes while the broker runs: `read-only` needs a
restart, `per-broker` can be altered for one broker, `cluster-wide` also for all.

A name that is not on this page is refused with `--set` and by `penstock config set`: it is misspelt. Other clients
can set it on a broker (AlterConfigs), as in Kafka, where a plugin may read it; here nothing does, and DescribeConfigs
lists it without its value. In a file it is passed over with a line in the log, so that a file written for Kafka, with
settings of ZooKeeper, of plugins or of `confluent.*`, starts a broker as it is. Refused everywhere is one that begins
with `penstock.`, and in a file also one that is almost the name of a setting of security, say `ssl.client.auht`.

Every setting of Kafka 4.3 is here. Those that are *without effect* say so; the log names each that is given another
value than its default when a broker starts.
"""


def configuration_reference() -> str:
    parts = [_INTRODUCTION]
    for theme in (topic.SECTION, group.SECTION, client_metrics.SECTION, *BROKER_SECTIONS):
        parts.append(f"\n## {theme.title}\n\n")
        parts.extend(_rows(theme))
    return "".join(parts)


def _rows(theme: Section) -> Iterator[str]:
    with_synonyms = any(prop.synonyms for prop in theme.properties)
    last = "Broker setting" if with_synonyms else "Update"
    yield f"| Name | Type | Default | Values | {last} | Meaning |\n|---|---|---|---|---|---|\n"
    for prop in sorted(theme.properties, key=lambda each: each.name):
        shown = ", ".join(f"`{name}`" for name in prop.synonyms) if with_synonyms else prop.live.value
        cells = (f"`{prop.name}`", prop.kind.name.lower(), _default(prop), _values(prop), shown, prop.doc)
        yield f"| {' | '.join(cells)} |\n"


def _default(prop: Property[object]) -> str:
    text = render(prop.default)
    if text is None:
        return ""
    if prop.default == LONG_MAX:
        return "no limit"
    return f"`{text}`" if text else "empty"


def _values(prop: Property[object]) -> str:
    if prop.choices:
        return ", ".join(f"`{choice}`" for choice in prop.choices)
    low, high = prop.at_least, prop.at_most
    if low is not None and high is not None:
        return f"{low:.12g} to {high:.12g}"
    return f"≥ {low:.12g}" if low is not None else ""


if __name__ == "__main__":
    sys.stdout.write(configuration_reference())
