"""The messages of a subscription, in both directions, as JSON texts of a WebSocket. Pure.

From the subscriber; `offset` is that of the next record wanted, as Kafka commits it:

    {"type": "commit", "offsets": [{"topic": …, "partition": …, "offset": …}], "id": …}
    {"type": "ack", "offsets": […]}         the records before it are processed; nothing is committed
    {"type": "rebalanced"}                  processing of the revoked partitions has stopped

To the subscriber:

    {"type": "joined", "group": …, "member_id": …, "member_epoch": …}
    {"type": "rebalance", "assigned": [{"topic", "partition", "offset"}], "revoked": [{"topic", "partition"}],
     "lost": true if the group has fenced the member, "member_epoch": …}
    {"type": "records", "records": [Record, …]}
    {"type": "committed", "id": …, "offsets": [{"topic", "partition", "offset", "error" where it failed}]}
    {"type": "problem", "problem": {…}}     RFC 9457; the connection ends unless the problem is the message's own
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.client.aio import TopicPartition
from penstock.gateway.http.problems import Problem, bad_request


class OffsetForm(msgspec.Struct, forbid_unknown_fields=True):
    topic: str
    partition: int
    offset: int

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Commit(msgspec.Struct, tag="commit", forbid_unknown_fields=True):
    offsets: list[OffsetForm]
    id: str | int | None = None


class Ack(msgspec.Struct, tag="ack", forbid_unknown_fields=True):
    offsets: list[OffsetForm]


class Rebalanced(msgspec.Struct, tag="rebalanced", forbid_unknown_fields=True):
    pass


SubscriberMessage = Commit | Ack | Rebalanced


def read_message(text: str) -> SubscriberMessage:
    """Parse a message of the subscriber. Raises `Problem`."""
    try:
        message: SubscriberMessage = msgspec.json.decode(text, type=SubscriberMessage)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise bad_request(f"The message cannot be read: {error}.") from None
    except RecursionError:
        raise bad_request("The message cannot be read: it is nested too deeply.") from None
    if not isinstance(message, Rebalanced) and not all(0 <= each.offset < 2**63 for each in message.offsets):
        raise bad_request("An offset must be from 0 to 2^63 - 1.")
    return message


def joined(group: str, member_id: str, member_epoch: int) -> dict[str, Any]:
    return {"type": "joined", "group": group, "member_id": member_id, "member_epoch": member_epoch}


def rebalance(
    member_epoch: int,
    *,
    assigned: Mapping[TopicPartition, int] | None = None,
    revoked: Iterable[TopicPartition] = (),
    is_lost: bool = False,
) -> dict[str, Any]:
    return {
        "type": "rebalance",
        "assigned": [
            {"topic": where.topic, "partition": where.partition, "offset": offset}
            for where, offset in sorted((assigned or {}).items())
        ],
        "revoked": [{"topic": where.topic, "partition": where.partition} for where in sorted(revoked)],
        "lost": is_lost,
        "member_epoch": member_epoch,
    }


def committed(commit: Commit, errors: Mapping[TopicPartition, Problem]) -> dict[str, Any]:
    return {"type": "committed", "id": commit.id, "offsets": _outcomes(commit.offsets, errors)}


def _outcomes(
    offsets: Sequence[OffsetForm], errors: Mapping[TopicPartition, Problem]
) -> list[dict[str, Any]]:
    outcomes = []
    for each in offsets:
        outcome: dict[str, Any] = {"topic": each.topic, "partition": each.partition, "offset": each.offset}
        if each.where in errors:
            outcome["error"] = errors[each.where].document()
        outcomes.append(outcome)
    return outcomes


def problem_message(problem: Problem) -> dict[str, Any]:
    return {"type": "problem", "problem": problem.document()}
