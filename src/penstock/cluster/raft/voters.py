"""Sets of voters, and their history in the log (KIP-853).

A voter set takes effect when its record is appended, committed or not; a truncation takes it back.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from penstock.cluster.raft.values import NO_DIRECTORY, Address, ReplicaKey


class Voter(msgspec.Struct, frozen=True, kw_only=True):
    """A voter, its endpoints, and the kraft.version levels that it supports."""

    key: ReplicaKey
    endpoints: tuple[Address, ...] = ()
    versions: tuple[int, int] = (0, 1)


class VoterSet:
    """Immutable. At most one voter for each node id."""

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._by_id: Mapping[int, Voter] = {voter.key.node_id: voter for voter in sorted(voters, key=_id)}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._by_id.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._by_id == other._by_id

    def __hash__(self) -> int:
        return hash(tuple(self._by_id.values()))

    def __repr__(self) -> str:
        return f"VoterSet({sorted(self._by_id)})"

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(self._by_id)

    @property
    def majority(self) -> int:
        return len(self._by_id) // 2 + 1

    def get(self, node_id: int) -> Voter | None:
        return self._by_id.get(node_id)

    def has(self, key: ReplicaKey) -> bool:
        """Whether this replica votes. A voter without a recorded directory id matches by its node id."""
        voter = self._by_id.get(key.node_id)
        return voter is not None and voter.key.directory_id in (key.directory_id, NO_DIRECTORY)

    def is_only(self, key: ReplicaKey) -> bool:
        return len(self._by_id) == 1 and self.has(key)

    def with_voter(self, voter: Voter) -> "VoterSet":
        """Add a voter, or replace the voter with its id."""
        return VoterSet([*(each for each in self if each.key.node_id != voter.key.node_id), voter])

    def without(self, node_id: int) -> "VoterSet":
        return VoterSet(each for each in self if each.key.node_id != node_id)


def _id(voter: Voter) -> int:
    return voter.key.node_id


class VoterHistory:
    """The voter sets in the log by the offset of their records; before the first, the set that was configured."""

    def __init__(self, initial: VoterSet, entries: Iterable[tuple[int, VoterSet]] = ()) -> None:
        self._initial = initial
        self._entries = list(entries)

    @property
    def latest(self) -> VoterSet:
        return self._entries[-1][1] if self._entries else self._initial

    @property
    def latest_offset(self) -> int | None:
        """The offset of the record that contains the latest set; None if no record does."""
        return self._entries[-1][0] if self._entries else None

    @property
    def before(self) -> VoterSet:
        """The set that the latest one took the place of."""
        return self._entries[-2][1] if len(self._entries) > 1 else self._initial

    @property
    def sets(self) -> Iterator[VoterSet]:
        """All that this node knows of, configured or in its log."""
        yield self._initial
        for _, voters in self._entries:
            yield voters

    @property
    def is_empty(self) -> bool:
        """Whether this node knows no voter at all, because it has just been started to join."""
        return not any(len(voters) for voters in self.sets)

    def add(self, offset: int, voters: VoterSet) -> None:
        assert not self._entries or offset > self._entries[-1][0], "voter sets are appended in order"
        self._entries.append((offset, voters))

    def at(self, end_offset: int) -> VoterSet | None:
        """The voter set in the log below `end_offset`, None when there is no record of one."""
        return next((voters for offset, voters in reversed(self._entries) if offset < end_offset), None)

    def truncate_from_end(self, end_offset: int) -> None:
        while self._entries and self._entries[-1][0] >= end_offset:
            self._entries.pop()

    def truncate_from_start(self, start_offset: int) -> None:
        """The log now starts at a snapshot, which has the set that held there: it is kept as its last record."""
        while len(self._entries) > 1 and self._entries[1][0] < start_offset:
            del self._entries[0]

    def restart(self, end_offset: int, voters: VoterSet | None) -> None:
        """The log was replaced by a snapshot that ends at `end_offset`."""
        self._entries = [] if voters is None else [(end_offset - 1, voters)]
