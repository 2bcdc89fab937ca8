import re

from penstock.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.server.metrics.scrape import scrape
from penstock.share.state.values import SharePartitionKey, StateUpdate
from tests.server.handlers.share_support import Member, prepared
from tests.server.live import Client, Live, batch, unique_name, values_in


async def values(live: Live) -> dict[str, float]:
    """Each sample's value by its name and labels, as written."""
    body = "".join([piece async for piece in scrape(live.services)])
    found: dict[str, float] = {}
    for line in body.splitlines():
        if not line.startswith("#"):
            assert re.fullmatch(r'[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [-+0-9.eInf]+', line), line
            name, _, value = line.rpartition(" ")
            assert name not in found, f"{name} comes twice"
            found[name] = float(value)
    return found


async def test_produced_and_fetched_bytes_are_counted_by_api_and_by_partition(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    before = await values(live)
    await client.produce(topic, batch(b"x" * 1000))
    assert values_in(await client.fetch(topic)) == [b"x" * 1000]
    after = await values(live)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    of = f'{{topic="{topic.name}",partition="0"}}'
    assert grown('penstock_request_duration_seconds_count{api="Produce"}') == 1
    assert grown('penstock_request_bytes_total{api="Produce"}') > 1000
    assert grown('penstock_response_bytes_total{api="Fetch"}') > 1000
    assert after[f"penstock_partition_log_end_offset{of}"] == 1
    assert after[f"penstock_partition_bytes_in_total{of}"] > 1000
    assert after[f"penstock_partition_bytes_out_total{of}"] == after[f"penstock_partition_bytes_in_total{of}"]
    assert grown("penstock_log_flush_duration_seconds_count") >= 1


async def test_the_lag_of_a_share_group_excludes_complete_records_after_its_start(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"a", b"b", b"c", b"d", b"e"))
    key = SharePartitionKey("sharing", topic.id, 0)
    await live.services.persister.initialize(key, 0, 1)
    await live.services.persister.write(key, StateUpdate(0, 0, -1, 2, []))

    found = await values(live)

    of = f'{{group="sharing",topic="{topic.name}",partition="0"}}'
    assert (found[f"penstock_share_group_start_offset{of}"], found[f"penstock_group_lag{of}"]) == (1, 2)


async def test_records_acquired_in_share_groups_are_counted(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"a", b"b", b"c"))
    member = Member(client, await prepared(live, topic), topic)
    before = await values(live)
    await member.take()
    after = await values(live)
    assert after["penstock_share_sessions"] == before["penstock_share_sessions"] + 1
    of = f'{{group="{member.group_id}",topic="{topic.name}",partition="0"}}'
    assert after[f"penstock_share_in_flight_records{of}"] == 3


async def test_the_lag_of_a_group_counts_unconsumed_records(live: Live, client: Client) -> None:
    topic, group = await client.create_topic(), unique_name()
    await client.produce(topic, batch(*[b"x"] * 5))
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=2)
    wanted = OffsetCommitRequestTopic(name=topic.name, topic_id=topic.id, partitions=[partition])
    await live.services.groups.ensure_ready(group)
    await client.send(OffsetCommitRequest(group_id=group, topics=[wanted]))
    of = f'{{group="{group}",topic="{topic.name}",partition="0"}}'
    found = await values(live)
    assert (found[f"penstock_group_committed_offset{of}"], found[f"penstock_group_lag{of}"]) == (2, 3)


async def test_a_node_reports_its_role_in_the_cluster(live: Live, client: Client) -> None:
    found = await values(live)
    assert found["penstock_ready"] == 1
    assert found["penstock_controller_active"] == 1
    assert found["penstock_raft_leader_id"] == live.services.node_id
    assert found["penstock_raft_voters"] == 1
    assert found["penstock_partitions_offline"] == 0
    assert found["penstock_partitions_under_replicated"] == 0
    assert found["penstock_connections"] >= 1
    assert found["process_resident_memory_bytes"] > 1_000_000
