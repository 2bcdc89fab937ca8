"""One member of a classic group."""

from penstock.protocol.messages.group_metadata_record import MemberMetadata

Protocols = tuple[tuple[str, bytes], ...]
"""The assignors that a member knows, the one it likes best first, each with the member's metadata for it."""


class Member:
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "deadline_ms",
        "instance_id",
        "is_new",
        "join_ticket",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_ticket",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.is_new = False
        """It was not yet part of a generation: it cannot send heartbeats, so a parked join does not prove life."""
        self.join_ticket: int | None = None
        self.sync_ticket: int | None = None
        self.deadline_ms: float | None = None
        """When it is removed unless it is heard of; None while nothing is expected of it."""

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_expected(self) -> bool:
        """Whether silence means that it is gone: whoever waits for our answer need not send heartbeats."""
        return self.is_new or (self.join_ticket is None and self.sync_ticket is None)

    def metadata(self, protocol: str | None) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """The first of its protocols that every member knows."""
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

    @staticmethod
    def of_record(record: MemberMetadata, protocol: str | None) -> "Member":
        return Member(
            record.member_id,
            instance_id=record.group_instance_id,
            client_id=record.client_id,
            client_host=record.client_host,
            session_timeout_ms=record.session_timeout,
            # Records before version 1 have no rebalance timeout.
            rebalance_timeout_ms=(
                record.session_timeout if record.rebalance_timeout == -1 else record.rebalance_timeout
            ),
            protocols=((protocol or "", record.subscription),),
            assignment=record.assignment,
        )
