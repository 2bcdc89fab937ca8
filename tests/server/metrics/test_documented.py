"""The metrics in docs/ against those that a broker exposes."""

import json
import re
from pathlib import Path

import yaml

from penstock.server.metrics.scrape import scrape
from tests.server.live import Live

DOCS = Path(__file__).parents[3] / "docs"
_KINDS = {"histogram": ("_bucket", "_sum", "_count")}


async def families(live: Live) -> dict[str, tuple[str, str]]:
    """The kind and the help of each metric, by name."""
    body = "".join([piece async for piece in scrape(live.services)])
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", body, re.MULTILINE))
    kinds = dict(re.findall(r"^# TYPE (\S+) (.*)$", body, re.MULTILINE))
    return {name: (kinds[name], explanation) for name, explanation in helps.items()}


async def test_every_metric_has_its_line_in_the_documentation(live: Live) -> None:
    lines = (DOCS / "metrics.md").read_text().splitlines()
    expected = [f"| `{n}` | {kind} | {text} |" for n, (kind, text) in (await families(live)).items()]
    assert [line for line in lines if line.startswith("| `")] == expected, "\n".join(expected)


async def test_the_dashboard_and_the_alerts_use_only_metrics_that_exist(live: Live) -> None:
    known = {
        name + suffix
        for name, (kind, _) in (await families(live)).items()
        for suffix in ("", *_KINDS.get(kind, ()))
    }
    dashboard = json.loads((DOCS / "monitoring/grafana-dashboard.json").read_text())
    alerts = yaml.safe_load((DOCS / "monitoring/alerts.yml").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    queries += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    used = {name for query in queries for name in re.findall(r"\b(?:penstock|process)_[a-z_]+", query)}
    assert len(queries) > 20
    assert used <= known
