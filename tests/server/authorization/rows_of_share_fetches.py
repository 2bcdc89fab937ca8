"""Requests of share group members to the leaders of partitions."""

from penstock.protocol.messages.share_fetch import ShareFetchRequest
from penstock.security.operations import Operation as Op
from tests.server.authorization.row import GROUP, Place, group, row, topic

_MEMBER = "guarded-member"
_ACKNOWLEDGED = {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}


async def begin_session(place: Place) -> None:
    request = ShareFetchRequest(group_id=GROUP, member_id=_MEMBER, share_session_epoch=0)
    answer = await place.guarded.admin.send(request)
    assert answer.error_code == 0


ROWS = [
    row(
        78,
        "",
        group(Op.READ),
        topic(Op.READ),
        fields=lambda place: {
            "group_id": GROUP,
            "member_id": _MEMBER,
            "topics": [{"topic_id": place.topic.id, "partitions": [{"partition_index": 0}]}],
        },
    ),
    row(
        78,
        "with acknowledgements",
        group(Op.READ),
        topic(Op.READ),
        before=begin_session,
        fields=lambda place: {
            "group_id": GROUP,
            "member_id": _MEMBER,
            "share_session_epoch": -1,
            "topics": [
                {
                    "topic_id": place.topic.id,
                    "partitions": [{"partition_index": 0, "acknowledgement_batches": [_ACKNOWLEDGED]}],
                }
            ],
        },
    ),
    row(
        79,
        "",
        group(Op.READ),
        topic(Op.READ),
        before=begin_session,
        fields=lambda place: {
            "group_id": GROUP,
            "member_id": _MEMBER,
            "share_session_epoch": 1,
            "topics": [
                {
                    "topic_id": place.topic.id,
                    "partitions": [{"partition_index": 0, "acknowledgement_batches": [_ACKNOWLEDGED]}],
                }
            ],
        },
    ),
]
