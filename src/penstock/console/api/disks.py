"""The disks that are full or have failed: every page shows them in a banner."""

import asyncio

from aiohttp import web

from penstock.client.cluster import ANY, Client
from penstock.client.disks import Disk, disks_in, log_dirs_request, reserve_request
from penstock.console.kafka.places import ask_each
from penstock.console.web import CLIENT, answer
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest


async def troubles(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await client.request(ANY, DescribeClusterRequest())
    found = await asyncio.gather(*(_disks(client, each.broker_id) for each in described.brokers))
    return answer(
        {"troubles": [disk.trouble for disks in found for disk in disks if disk.trouble is not None]}
    )


async def _disks(client: Client, broker: int) -> list[Disk]:
    """None of a broker that does not answer: others tell of that."""
    log_dirs, reserve = await asyncio.gather(
        ask_each(client, [broker], log_dirs_request()), ask_each(client, [broker], reserve_request(broker))
    )
    return disks_in(broker, log_dirs[broker], reserve.get(broker)) if broker in log_dirs else []


ROUTES = (("GET", "troubles", troubles),)
