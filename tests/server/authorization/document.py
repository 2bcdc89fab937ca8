"""The table of docs/acls.md, drawn from the rows of the tests: `python -m tests.server.authorization.document`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.protocol import apis
from penstock.security.resources import ResourceType
from penstock.server.handlers import HANDLERS
from tests.server.authorization import (
    rows_of_groups,
    rows_of_share_fetches,
    rows_of_share_groups,
    rows_of_the_cluster,
    rows_of_topics,
    rows_of_transactions,
)
from tests.server.authorization.row import CLUSTER_REFUSED, Need, Row

PAGE = Path(__file__).parents[3] / "docs" / "acls.md"
_BEGIN, _END = "<!-- drawn from the tests: begin -->\n", "<!-- drawn from the tests: end -->\n"
_RESOURCES = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.CLUSTER: "cluster",
    ResourceType.TRANSACTIONAL_ID: "transactional id",
}

TABLE: Sequence[Row] = [
    each
    for module in (
        rows_of_topics,
        rows_of_groups,
        rows_of_share_fetches,
        rows_of_share_groups,
        rows_of_transactions,
        rows_of_the_cluster,
    )
    for each in module.ROWS
    if each.key in HANDLERS
]


def drawn(rows: Iterable[Row]) -> str:
    """One line for each API and each way to be allowed; those that differ only in how things are named are one."""
    lines: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda each: each.key):
        name = apis.APIS[row.key].name
        needs = ", ".join(_needed(need) for need in row.needs) or "nothing"
        refusal = ", ".join(dict.fromkeys(_refusal(need) for need in row.needs))
        if row.is_for_brokers:
            needs, refusal = "to be a broker of the cluster", f"`{CLUSTER_REFUSED.name}`"
        note = f" {row.note}" if row.note and any(key[0] == name for key in lines) else ""
        lines.setdefault((name, needs), f"| {name}{note} | {needs} | {refusal} |\n")
    return "| request | needs | else |\n|---|---|---|\n" + "".join(lines.values())


def _needed(need: Need) -> str:
    return f"`{need.operation.name}` {_RESOURCES[need.resource_type]}"


def _refusal(need: Need) -> str:
    return "left out" if need.refusal is None else f"`{need.refusal.name}`"


def page_with(table: str, page: str) -> str:
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{table}{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(drawn(TABLE), PAGE.read_text()))
