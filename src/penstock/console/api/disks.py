"""The disks that are full or have failed, and records that are damaged: every page shows them in a banner."""

import asyncio

from aiohttp import web

from penstock.client.aio import ANY, Client
from penstock.client.damage import damage_in
from penstock.client.disks import disks_in, log_dirs_request, state_request
from penstock.console.kafka.topics import ask_each
from penstock.console.web import CLIENT, answer
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest


async def troubles(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await client.request(ANY, DescribeClusterRequest())
    found = await asyncio.gather(*(_troubles_of(client, each.broker_id) for each in described.brokers))
    return answer({"troubles": [trouble for troubles in found for trouble in troubles]})


async def _troubles_of(client: Client, broker: int) -> list[str]:
    """Empty for a broker that does not respond: other pages show that."""
    log_dirs, state = await asyncio.gather(
        ask_each(client, [broker], log_dirs_request()), ask_each(client, [broker], state_request(broker))
    )
    disks = disks_in(broker, log_dirs[broker], state.get(broker)) if broker in log_dirs else []
    return [
        *(each.trouble for each in disks if each.trouble is not None),
        *(each.trouble for each in damage_in(broker, state.get(broker))),
    ]


ROUTES = (("GET", "troubles", troubles),)
