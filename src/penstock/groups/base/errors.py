"""Errors that a group returns to a client."""

from penstock.protocol.errors import ErrorCode


class GroupError(Exception):
    """The group rejects a request and has not changed. `message` explains the reason to the client."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def require(condition: bool, message: str) -> None:
    if not condition:
        raise GroupError(ErrorCode.INVALID_REQUEST, message)


def unknown_member(group_id: str, member_id: str) -> GroupError:
    return GroupError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")


def group_full(kind: str, size_max: int) -> GroupError:
    return GroupError(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"The {kind} group has reached its maximum capacity of {size_max} members.",
    )


def fenced_member(kind: str, sent_epoch: int, epoch: int, detail: str = "") -> GroupError:
    comparison = "greater" if sent_epoch > epoch else "smaller"
    return GroupError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The {kind} group member has a {comparison} member epoch ({sent_epoch}) than the one known by the group "
        f"coordinator ({epoch}){detail}. The member must abandon all its partitions and rejoin.",
    )
