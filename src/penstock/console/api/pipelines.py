"""Pipelines: their groups and topics in the cluster, and their status files.

Every query of a pipeline commits what it has read to the group `penstock-pipeline.<pipeline>.<query>`, and rejected
records go to a topic `<pipeline>.dlq`: both are there for every client. What only the process of a run knows (its
rates, its restarts, its last error) is in `status.json` beside its checkpoints; it is shown of the directories that
the console was given.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from aiohttp import web

from penstock.client.aio import EARLIEST, LATEST, Client, TopicPartition
from penstock.console.api.messages import newest
from penstock.console.broker_errors import NOT_FOUND
from penstock.console.kafka.counting import count_records
from penstock.console.kafka.topics import Described, ask_each, describe, leaders_of, offsets_at
from penstock.console.pipeline_status import read_statuses
from penstock.console.record_view import record_view
from penstock.console.refusals import Refused
from penstock.console.web import CLIENT, PIPELINES, answer
from penstock.protocol.messages.list_groups import ListGroupsRequest
from penstock.spark.dead_letter_format import TOPIC_SUFFIX, read_headers

GROUP_PREFIX: Final = "penstock-pipeline."
_DEAD_LETTERS_SHOWN: Final = 50


def pipeline_and_query(group: str, known: Iterable[str]) -> tuple[str, str] | None:
    """The pipeline and query of a group; None for other groups. Pure.

    Both names may have dots: one of the `known` pipelines is preferred, the longest; else the name ends at the first.
    """
    if not group.startswith(GROUP_PREFIX):
        return None
    rest = group.removeprefix(GROUP_PREFIX)
    fitting = [name for name in known if rest.startswith(f"{name}.")]
    pipeline = max(fitting, key=len) if fitting else rest.partition(".")[0]
    query = rest[len(pipeline) + 1 :]
    return (pipeline, query) if pipeline and query else None


async def list_pipelines(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await describe(client)
    found = await _found(client, described)
    statuses = await asyncio.to_thread(read_statuses, request.app[PIPELINES].directories)
    for name, status in statuses.items():
        found.setdefault(name, {"name": name, "queries": [], "deadLetters": None})["status"] = status
    return answer({"pipelines": [found[name] for name in sorted(found)]})


async def _found(client: Client, described: Described) -> dict[str, dict[str, Any]]:
    nodes = [broker.node_id for broker in described.brokers]
    groups = await ask_each(client, nodes, ListGroupsRequest())
    names = [group.group_id for response in groups.values() for group in response.groups]
    pipelines: dict[str, dict[str, Any]] = {}

    def pipeline(name: str) -> dict[str, Any]:
        return pipelines.setdefault(name, {"name": name, "queries": [], "deadLetters": None, "status": None})

    leaders = leaders_of(described.topics)
    known = [(topic.name or "").removesuffix(TOPIC_SUFFIX) for topic in described.topics]
    for group in sorted(names):
        whose = pipeline_and_query(group, known)
        if whose is not None:
            pipeline(whose[0])["queries"].append(await _query(client, group, whose[1], leaders))
    dead = {where: leader for where, leader in leaders.items() if where.topic.endswith(TOPIC_SUFFIX)}
    starts, ends = await asyncio.gather(offsets_at(client, dead, EARLIEST), offsets_at(client, dead, LATEST))
    for where, end in ends.items():
        each = pipeline(where.topic.removesuffix(TOPIC_SUFFIX))
        counts = each["deadLetters"] or {"topic": where.topic, "count": 0, "isExact": True}
        counted = await count_records(client, where, starts.get(where, end), end)
        each["deadLetters"] = {
            **counts,
            "count": counts["count"] + counted.records,
            "isExact": counts["isExact"] and counted.is_exact,
        }
    return pipelines


async def _query(client: Client, group: str, name: str, leaders: dict[TopicPartition, int]) -> dict[str, Any]:
    committed = await client.committed(group)
    ends = await offsets_at(client, {w: leaders[w] for w in committed if w in leaders}, LATEST)
    is_known = bool(committed) and committed.keys() <= ends.keys()
    starts = await offsets_at(client, {w: leaders[w] for w in committed if w in leaders}, EARLIEST)
    return {
        "name": name,
        "group": group,
        "topics": sorted({where.topic for where in committed}),
        "lag": sum(max(0, end - committed[where]) for where, end in ends.items()) if is_known else None,
        "read": sum(max(0, committed[where] - start) for where, start in starts.items()),
        "total": sum(end - starts.get(where, end) for where, end in ends.items()),
    }


async def dead_letters(request: web.Request) -> web.Response:
    """Return the newest records that a pipeline rejected, each with its origin and the error."""
    client, name = request[CLIENT], request.match_info["pipeline"]
    topic = name + TOPIC_SUFFIX
    if topic not in {each.name for each in (await describe(client)).topics}:
        raise Refused(NOT_FOUND, "NO_DEAD_LETTERS", f"Pipeline {name} has no topic {topic}.")
    page = await newest(client, topic, _DEAD_LETTERS_SHOWN)
    rows = []
    for partition, record in page.records:
        rejection = read_headers(record.headers)
        origin = rejection.origin if rejection is not None else None
        rows.append(
            {
                **record_view(partition, record),
                "step": rejection.step if rejection else None,
                "error": rejection.error if rejection else None,
                "origin": None
                if origin is None
                else {"topic": origin.topic, "partition": origin.partition, "offset": origin.offset},
            }
        )
    return answer({"topic": topic, "records": rows})


ROUTES = (
    ("GET", "pipelines", list_pipelines),
    ("GET", "pipelines/{pipeline}/dead-letters", dead_letters),
)
