"""ShareAcknowledge: acknowledgements of a member outside of a fetch."""

from collections.abc import Sequence

import pytest

from penstock.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from tests.server.handlers.share_support import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Member,
    acquired,
    led,
    partitions_of,
    prepared,
)
from tests.server.live import Client, Live, TopicHandle, batch, code, one, versions

VERSIONS = versions(ShareAcknowledgeRequest)
UNKNOWN = TopicHandle("no-such-topic", b"\x07" * 16)


async def holding(live: Live, client: Client, count: int) -> Member:
    """A member that holds so many records of a topic of its own."""
    topic = await client.create_topic()
    await client.produce(topic, batch(*[b"v"] * count))
    member = Member(client, await prepared(live, topic), topic)
    await member.take()
    return member


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_acknowledgement_counts_when_it_is_answered(
    live: Live, client: Client, version: int
) -> None:
    member = await holding(live, client, 4)
    response = await member.acknowledge({0: [(0, 1, [ACCEPT]), (2, 3, [REJECT, RELEASE])]}, version=version)
    assert response.error_code == 0
    assert response.acquisition_lock_timeout_ms == (30_000 if version >= 2 else 0)
    part = one(response.responses[0].partitions)
    assert (response.responses[0].topic_id, part.error_code, part.error_message) == (member.topic.id, 0, None)
    assert acquired(await member.take()) == [(3, 3, 2)]


async def test_the_start_offset_moves_past_complete_records(live: Live, client: Client) -> None:
    member = await holding(live, client, 4)
    assert await member.done_with(0, 1) == 0
    state = led(live, member.group_id, member.topic).state
    assert state is not None
    assert state.start_offset == 2


async def test_a_gap_in_the_log_is_acknowledged_as_such(live: Live, client: Client) -> None:
    member = await holding(live, client, 3)
    assert await member.done_with(0, 2, GAP) == 0
    await client.produce(member.topic, batch(b"next"))
    assert acquired(await member.take()) == [(3, 3, 1)]


async def test_a_member_cannot_acknowledge_records_of_others(live: Live, client: Client) -> None:
    member = await holding(live, client, 2)
    stranger = Member(client, member.group_id, member.topic)
    await stranger.fetch(max_records=0)
    assert code(await stranger.done_with(0, 1)) == "INVALID_RECORD_STATE"
    assert code(await member.done_with(0, 1)) == "NONE"
    assert code(await member.done_with(0, 1)) == "NONE"  # they lie before the start: nobody minds


async def test_sessions_are_counted_across_fetches_and_acknowledgements(live: Live, client: Client) -> None:
    member = await holding(live, client, 3)
    assert code((await member.acknowledge({0: []}, epoch=0)).error_code) == "INVALID_SHARE_SESSION_EPOCH"
    assert code((await member.acknowledge({0: []}, epoch=2)).error_code) == "INVALID_SHARE_SESSION_EPOCH"
    assert await member.done_with(0, 0) == 0
    assert (await member.fetch()).error_code == 0
    assert await member.done_with(1, 1) == 0
    stranger = Member(client, member.group_id, member.topic)
    for epoch in (1, -1):
        refused = await stranger.acknowledge({0: []}, epoch=epoch)
        assert code(refused.error_code) == "SHARE_SESSION_NOT_FOUND"


async def test_closing_a_session_releases_unacknowledged_records(live: Live, client: Client) -> None:
    member = await holding(live, client, 3)
    response = await member.acknowledge({0: [(1, 1, [ACCEPT])]}, epoch=-1)
    assert one(response.responses[0].partitions).error_code == 0
    refused = await member.acknowledge({0: []}, epoch=1)
    assert code(refused.error_code) == "SHARE_SESSION_NOT_FOUND"
    other = Member(client, member.group_id, member.topic)
    assert acquired(await other.take()) == [(0, 0, 2), (2, 2, 2)]


@pytest.mark.parametrize(
    "batches",
    [
        [(1, 0, [ACCEPT])],
        [(1, 1, [ACCEPT]), (0, 0, [ACCEPT])],
        [(0, 1, [])],
        [(0, 2, [ACCEPT, ACCEPT])],
        [(0, 0, [5])],
        [(0, 0, [-1])],
        [(0, 0, [RENEW])],
    ],
    ids=["backwards", "out of order", "without a type", "too few types", "unknown", "negative", "a renewal"],
)
async def test_invalid_acknowledgements_are_refused_and_change_nothing(
    live: Live, client: Client, batches: Sequence[tuple[int, int, Sequence[int]]]
) -> None:
    member = await holding(live, client, 3)
    response = await member.acknowledge({0: batches})
    assert code(one(response.responses[0].partitions).error_code) == "INVALID_REQUEST"
    answer = await member.fetch(acks={0: batches})
    assert code(partitions_of(answer)[0].acknowledge_error_code) == "INVALID_REQUEST"
    assert await member.done_with(0, 2) == 0


async def test_a_renewal_is_unknown_to_the_first_version(live: Live, client: Client) -> None:
    member = await holding(live, client, 1)
    response = await member.acknowledge({0: [(0, 0, [RENEW])]}, version=1)
    assert code(one(response.responses[0].partitions).error_code) == "INVALID_REQUEST"


async def test_unknown_and_unfetched_partitions_are_errors(live: Live, client: Client) -> None:
    member = await holding(live, client, 1)
    two = await client.create_topic(partitions=2)
    for topic, number, said in (
        (UNKNOWN, 0, "UNKNOWN_TOPIC_ID"),
        (member.topic, 1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (two, 1, "UNKNOWN_TOPIC_OR_PARTITION"),
    ):
        asking = Member(client, member.group_id, topic, member.name)
        asking.epoch = member.epoch
        response = await asking.acknowledge({number: [(0, 0, [ACCEPT])]})
        member.epoch = asking.epoch
        assert code(one(response.responses[0].partitions).error_code) == said


async def test_an_answer_names_no_leader_unless_another_broker_leads(live: Live, client: Client) -> None:
    member = await holding(live, client, 1)
    for number, said in ((1, "UNKNOWN_TOPIC_OR_PARTITION"), (0, "NONE")):
        response = await member.acknowledge({number: [(0, 0, [ACCEPT])]})
        part = one(response.responses[0].partitions)
        assert code(part.error_code) == said
        assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (-1, -1)


async def test_a_request_without_a_valid_member_is_refused(client: Client) -> None:
    for member_id in ("", "m" * 37):
        request = ShareAcknowledgeRequest(group_id="g", member_id=member_id)
        assert code((await client.send(request)).error_code) == "INVALID_REQUEST"
    assert code((await client.send(ShareAcknowledgeRequest(member_id="m"))).error_code) == "INVALID_REQUEST"
