"""Computes the new state of a partition when its replicas, its in-sync set or the health of brokers change.

A member of the in-sync set may lead. If that set is empty, an eligible leader replica may (KIP-966: replicas that left
a set which is smaller than `min.insync.replicas` without them, so nothing was committed that they lack). These are
cleared as soon as the in-sync set can commit without them: here, and in `settings_review` when settings change. Any
other replica leads only by an unclean election, which must be requested, or allowed by
`unclean.leader.election.enable`.

A record with a leader, even the same one, begins a new leader epoch. That is done whenever a broker leaves the
replicas, so that its further requests as a member are refused.
"""

import enum
from collections.abc import Callable, Iterable

import msgspec

from penstock.cluster.metadata.state import DIRECTORY_UNASSIGNED, NO_LEADER, NO_LEADER_CHANGE, Partition
from penstock.protocol.messages.metadata_records import PartitionChangeRecord

RECOVERED = 0
RECOVERING = 1  # led by a replica that may lack committed records (KIP-704)
_NO_RECOVERY_CHANGE = -1


class Election(enum.Enum):
    """The kind of election: the first replica, any in-sync or eligible replica, or any replica at all."""

    PREFERRED = enum.auto()
    ONLINE = enum.auto()
    UNCLEAN = enum.auto()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for the partition's topic at the time of the change.

    A leader that may not be elected, but `may_stay`, keeps leading if no other replica can: its disk has failed, and
    its records can still be read.
    """

    may_lead: Callable[[int], bool]
    may_stay: Callable[[int], bool] = lambda _broker_id: False
    min_isr: int = 1
    has_elr: bool = True
    election: Election = Election.ONLINE
    directory_of: Callable[[int], bytes] = lambda _broker_id: DIRECTORY_UNASSIGNED
    has_directory: Callable[[int, bytes], bool] = lambda _broker_id, _directory: True
    """Whether a broker can use a directory: a broker of Apache Kafka may have others than one that has failed."""


class RequestedChange(msgspec.Struct, frozen=True, kw_only=True):
    """The changes to make; None changes nothing. `lost_data` are brokers that may have lost committed records.

    The brokers in `lost_disk` have lost their directory with all records.
    """

    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    is_recovered: bool = False
    lost_data: frozenset[int] = frozenset()
    lost_disk: frozenset[int] = frozenset()


def change_partition(
    topic_id: bytes, number: int, before: Partition, requested: RequestedChange, rules: Rules
) -> PartitionChangeRecord | None:
    """Make the record of a requested change; None when nothing changes."""
    target = _complete_reassignment(_granted(before, requested))
    target = _with_eligible(before, target, requested.lost_data, rules)
    leader, is_clean = _elect(before, target, rules)
    if leader in target.elr:
        target = msgspec.structs.replace(target, isr=(leader,), elr=_without(target.elr, {leader}))
    recovery_state = RECOVERED if requested.is_recovered else before.leader_recovery_state
    if not is_clean:
        target = msgspec.structs.replace(target, isr=(leader,), elr=(), last_known_elr=())
        recovery_state = RECOVERING
    elif not target.isr and not rules.has_elr:
        target = msgspec.structs.replace(
            target, isr=before.isr
        )  # the last one stays: it has all committed records
    if target.has_min_isr(rules.min_isr):
        target = msgspec.structs.replace(target, elr=(), last_known_elr=())
    is_named = leader != before.leader or not set(before.replicas) <= set(target.replicas)
    record = PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=number,
        leader=leader if is_named else NO_LEADER_CHANGE,
        isr=_if_changed(before.isr, target.isr),
        replicas=_if_changed(before.replicas, target.replicas),
        removing_replicas=_if_changed(before.removing_replicas, target.removing_replicas),
        adding_replicas=_if_changed(before.adding_replicas, target.adding_replicas),
        leader_recovery_state=(
            _NO_RECOVERY_CHANGE if recovery_state == before.leader_recovery_state else recovery_state
        ),
        directories=_directories(before, target.replicas, requested.lost_disk, rules),
        eligible_leader_replicas=_if_changed(before.elr, target.elr),
        last_known_elr=_if_changed(before.last_known_elr, target.last_known_elr),
    )
    return None if record == PartitionChangeRecord(topic_id=topic_id, partition_id=number) else record


def _granted(before: Partition, requested: RequestedChange) -> Partition:
    return msgspec.structs.replace(
        before,
        isr=before.isr if requested.isr is None else requested.isr,
        replicas=before.replicas if requested.replicas is None else requested.replicas,
        removing_replicas=before.removing_replicas if requested.removing is None else requested.removing,
        adding_replicas=before.adding_replicas if requested.adding is None else requested.adding,
    )


def _complete_reassignment(target: Partition) -> Partition:
    """Complete a reassignment if every remaining replica is in sync."""
    if not target.adding_replicas and not target.removing_replicas:
        return target
    isr = _without(target.isr, target.removing_replicas)
    replicas = _without(target.replicas, target.removing_replicas)
    if not replicas or not set(replicas) <= set(isr):
        return target
    return msgspec.structs.replace(
        target, isr=isr, replicas=replicas, removing_replicas=(), adding_replicas=()
    )


def _with_eligible(
    before: Partition, target: Partition, lost_data: frozenset[int], rules: Rules
) -> Partition:
    """Update the eligible replicas: a broker that left a set too small to commit has all committed records."""
    if not rules.has_elr:
        return msgspec.structs.replace(target, elr=(), last_known_elr=())
    left = [each for each in (*before.elr, *before.isr) if each not in target.isr and each in target.replicas]
    eligible = tuple(sorted(set(left) - lost_data))
    known = set(left) | set(before.last_known_elr)
    last_known = tuple(sorted(known - set(target.isr) - set(eligible)))
    return msgspec.structs.replace(target, elr=eligible, last_known_elr=last_known)


def _elect(before: Partition, target: Partition, rules: Rules) -> tuple[int, bool]:
    """The leader (NO_LEADER for none), and whether it has all committed records."""
    eligible = target.isr or target.elr

    def may_lead(broker_id: int) -> bool:
        return rules.may_lead(broker_id) and rules.has_directory(broker_id, before.directory_of(broker_id))

    if rules.election is Election.PREFERRED:
        order = (target.replicas[0], before.leader, *target.replicas)
    else:
        order = (before.leader, *target.replicas)
    for each in order:
        if each in eligible and may_lead(each):
            return each, True
    if before.leader in eligible and rules.may_stay(before.leader):
        return before.leader, True
    if rules.election is Election.UNCLEAN:
        for each in target.replicas:
            if may_lead(each):
                return each, False
    return NO_LEADER, True


def _directories(
    before: Partition, replicas: tuple[int, ...], lost_disk: frozenset[int], rules: Rules
) -> list[bytes] | None:
    """The directories of the replicas; a new one gets its broker's if there is no choice (KIP-858)."""
    pairs = zip(before.replicas, before.directories, strict=False)
    known = {each: directory for each, directory in pairs if each not in lost_disk}
    directories = tuple(known[each] if each in known else rules.directory_of(each) for each in replicas)
    return None if directories == before.directories else list(directories)


def _without(brokers: Iterable[int], others: Iterable[int]) -> tuple[int, ...]:
    excluded = set(others)
    return tuple(each for each in brokers if each not in excluded)


def _if_changed(before: tuple[int, ...], after: tuple[int, ...]) -> list[int] | None:
    return None if before == after else list(after)
