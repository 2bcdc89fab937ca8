"""One member of a classic group."""

import msgspec

from penstock.protocol.messages.group_metadata_record import MemberMetadata

Protocols = tuple[tuple[str, bytes], ...]
"""The assignors that a member supports, in order of preference, each with the member's metadata for it."""


class Member(msgspec.Struct, kw_only=True, eq=False):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    """It was not in a generation yet: it cannot send heartbeats, so a parked join does not prove that it is alive."""
    join_ticket: int | None = None
    sync_ticket: int | None = None
    deadline_ms: float | None = None
    """The end of its session; None while no heartbeat is expected."""

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_expected(self) -> bool:
        """Whether its session can time out: a member that waits for a response need not send heartbeats."""
        return self.is_new or (self.join_ticket is None and self.sync_ticket is None)

    def metadata(self, protocol: str | None) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """Return its first protocol that every member supports."""
        return next(name for name, _ in self.protocols if name in candidates)

    def record(self, protocol: str | None, assignment: bytes) -> MemberMetadata:
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.metadata(protocol),
            assignment=assignment,
        )


def restore_member(record: MemberMetadata, protocol: str | None) -> Member:
    # Records before version 1 have no rebalance timeout.
    rebalance_ms = record.session_timeout if record.rebalance_timeout == -1 else record.rebalance_timeout
    return Member(
        member_id=record.member_id,
        instance_id=record.group_instance_id,
        client_id=record.client_id,
        client_host=record.client_host,
        session_timeout_ms=record.session_timeout,
        rebalance_timeout_ms=rebalance_ms,
        protocols=((protocol or "", record.subscription),),
        assignment=record.assignment,
    )
