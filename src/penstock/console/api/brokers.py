"""Brokers with their disks, and the quorum that keeps the cluster's metadata."""

from typing import Any, Final

from aiohttp import web

from penstock.client.aio import ANY, Client, ClientError
from penstock.console.kafka.log_sizes import LogDirs, log_dirs
from penstock.console.kafka.topics import Described, describe
from penstock.console.refusals import of_failure, refusal, words_of
from penstock.console.web import CLIENT, answer
from penstock.protocol.messages import describe_cluster, describe_quorum

_METADATA_TOPIC: Final = "__cluster_metadata"
_UNKNOWN_TIME: Final = -1


async def show_brokers(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await describe(client)
    cluster = await client.request(ANY, describe_cluster.DescribeClusterRequest())
    dirs = await log_dirs(client, [broker.node_id for broker in described.brokers])
    return answer(
        {
            "clusterId": described.cluster_id,
            "controller": cluster.controller_id,
            "brokers": broker_rows(described, dirs),
            "quorum": await _quorum(client),
        }
    )


def broker_rows(described: Described, dirs: LogDirs) -> list[dict[str, Any]]:
    partitions = [partition for topic in described.topics for partition in topic.partitions]
    rows = []
    for broker in sorted(described.brokers, key=lambda each: each.node_id):
        response = dirs.get(broker.node_id)
        rows.append(
            {
                "id": broker.node_id,
                "host": broker.host,
                "port": broker.port,
                "rack": broker.rack,
                "leaders": sum(each.leader_id == broker.node_id for each in partitions),
                "replicas": sum(broker.node_id in each.replica_nodes for each in partitions),
                "inSync": sum(broker.node_id in each.isr_nodes for each in partitions),
                "logDirs": [] if response is None else [_directory(each) for each in response.results],
                "answers": response is not None,
                "logDirsError": words_of(response.error_code) if response else None,
            }
        )
    return rows


def _directory(directory: Any) -> dict[str, Any]:
    sizes = [partition.partition_size for topic in directory.topics for partition in topic.partitions]
    return {
        "path": directory.log_dir,
        "error": words_of(directory.error_code),
        "sizeBytes": sum(sizes),
        "partitions": len(sizes),
        "totalBytes": directory.total_bytes,
        "usableBytes": directory.usable_bytes,
    }


async def _quorum(client: Client) -> dict[str, Any]:
    """The quorum, or the reason why it is not shown; the brokers are shown anyway."""
    message = describe_quorum.DescribeQuorumRequest(
        topics=[
            describe_quorum.RequestTopicData(
                topic_name=_METADATA_TOPIC,
                partitions=[describe_quorum.RequestPartitionData(partition_index=0)],
            )
        ]
    )
    what = "The quorum cannot be shown"
    try:
        response = await client.request(ANY, message)
    except ClientError as failure:
        problem = of_failure(failure, what)
        return {"error": problem.message if problem else what}
    data = response.topics[0].partitions[0]
    if data.error_code:
        return {"error": refusal(data.error_code, what, data.error_message).message}
    leader_end = max((each.log_end_offset for each in data.current_voters), default=0)

    def row(replica: Any, role: str) -> dict[str, Any]:
        return {
            "id": replica.replica_id,
            "role": "leader" if replica.replica_id == data.leader_id else role,
            "logEnd": replica.log_end_offset,
            "behind": max(0, leader_end - replica.log_end_offset),
            "lastFetchMs": None
            if replica.last_fetch_timestamp == _UNKNOWN_TIME
            else replica.last_fetch_timestamp,
        }

    return {
        "leader": data.leader_id,
        "epoch": data.leader_epoch,
        "highWatermark": data.high_watermark,
        "replicas": [
            *(row(each, "voter") for each in data.current_voters),
            *(row(each, "observer") for each in data.observers),
        ],
    }


ROUTES = (("GET", "brokers", show_brokers),)
