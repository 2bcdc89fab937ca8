"""Mirrors of other clusters: their state, and the lag of their partitions."""

from typing import Any

from aiohttp import web

from penstock.client.aio import ANY, Client
from penstock.client.mirrors import MirrorReport, PartitionProgress, list_request, report_of, report_request
from penstock.console.kafka.topics import ask_each
from penstock.console.refusals import check
from penstock.console.web import CLIENT, answer
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest


async def show_mirrors(request: web.Request) -> web.Response:
    client = request[CLIENT]
    listed = await client.request(ANY, list_request(), error_of=lambda _: 0)
    check(listed.error_code, "Mirrors cannot be shown")
    described = await client.request(ANY, DescribeClusterRequest())
    brokers = [each.broker_id for each in described.brokers]
    found = [await _report(client, brokers, each.resource_name) for each in listed.config_resources]
    return answer({"mirrors": [mirror_facts(each) for each in found]})


async def _report(client: Client, brokers: list[int], name: str) -> MirrorReport:
    """A broker that does not answer reports nothing of the partitions that it leads."""
    answers = await ask_each(client, brokers, report_request(name))
    silent = [f"broker {each} does not answer" for each in brokers if each not in answers]
    return report_of(name, list(answers.values()), silent)


def mirror_facts(report: MirrorReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "state": report.state,
        "servers": report.servers,
        "lag": report.lag,
        "copiedBytes": report.copied_bytes,
        "failures": report.failures,
        "partitions": [_partition_facts(each) for each in report.partitions],
    }


def _partition_facts(each: PartitionProgress) -> dict[str, Any]:
    return {
        "topic": each.topic,
        "partition": each.partition,
        "leader": each.leader,
        "end": each.end_offset,
        "source": None if each.source_offset < 0 else each.source_offset,
        "lag": each.lag,
        "trouble": each.trouble or None,
    }


ROUTES = (("GET", "mirrors", show_mirrors),)
