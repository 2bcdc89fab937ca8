"""What becomes of one partition when its replicas, its in-sync set or the health of brokers change.

Who may lead: a member of the in-sync set; when that is empty, one of the eligible replicas (KIP-966: those that left a
set which is smaller than `min.insync.replicas` without them, so that nothing was committed that they lack). They are
cleared as soon as the in-sync set can commit without them: here, and in `settings_review` when settings change. Anybody
else only by an unclean election, which has to be asked for or allowed by `unclean.leader.election.enable`.

A partition's leader epoch is raised by naming its leader in the record, even the same one. That is done whenever a
broker leaves the replicas, so that whatever it still does as a member is refused.
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
    """Which leader is wanted: the first replica if it can be, any that can, or any at all."""

    PREFERRED = enum.auto()
    ONLINE = enum.auto()
    UNCLEAN = enum.auto()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the partition's topic and cluster at the moment of the change.

    A leader that may not be elected, but `may_stay`, leads on where nobody else could: its disk has failed, and what it
    has can still be read.
    """

    may_lead: Callable[[int], bool]
    may_stay: Callable[[int], bool] = lambda _broker_id: False
    min_isr: int = 1
    has_elr: bool = True
    election: Election = Election.ONLINE
    directory_of: Callable[[int], bytes] = lambda _broker_id: DIRECTORY_UNASSIGNED


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What shall change; what is None stays. `lost_data` names brokers that may have lost committed records.

    Those in `lost_disk` hold nothing any more in the directory that they had.
    """

    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    is_recovered: bool = False
    lost_data: frozenset[int] = frozenset()
    lost_disk: frozenset[int] = frozenset()


def change_partition(
    topic_id: bytes, number: int, before: Partition, wish: Wish, rules: Rules
) -> PartitionChangeRecord | None:
    """Give the record that grants the wish, or None when nothing changes."""
    target = _complete_reassignment(_granted(before, wish))
    target = _with_eligible(before, target, wish.lost_data, rules)
    leader, is_clean = _elect(before, target, rules)
    if leader in target.elr:
        target = msgspec.structs.replace(target, isr=(leader,), elr=_without(target.elr, {leader}))
    recovery_state = RECOVERED if wish.is_recovered else before.leader_recovery_state
    if not is_clean:
        target = msgspec.structs.replace(target, isr=(leader,), elr=(), last_known_elr=())
        recovery_state = RECOVERING
    elif not target.isr and not rules.has_elr:
        target = msgspec.structs.replace(
            target, isr=before.isr
        )  # the last one stays: it has what was committed
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
        directories=_directories(before, target.replicas, wish.lost_disk, rules),
        eligible_leader_replicas=_if_changed(before.elr, target.elr),
        last_known_elr=_if_changed(before.last_known_elr, target.last_known_elr),
    )
    return None if record == PartitionChangeRecord(topic_id=topic_id, partition_id=number) else record


def _granted(before: Partition, wish: Wish) -> Partition:
    return msgspec.structs.replace(
        before,
        isr=before.isr if wish.isr is None else wish.isr,
        replicas=before.replicas if wish.replicas is None else wish.replicas,
        removing_replicas=before.removing_replicas if wish.removing is None else wish.removing,
        adding_replicas=before.adding_replicas if wish.adding is None else wish.adding,
    )


def _complete_reassignment(target: Partition) -> Partition:
    """A reassignment ends when every replica that stays is in sync."""
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
    """Who left a set that is too small to commit anything without it has all that was committed."""
    if not rules.has_elr:
        return msgspec.structs.replace(target, elr=(), last_known_elr=())
    left = [each for each in (*before.elr, *before.isr) if each not in target.isr and each in target.replicas]
    eligible = tuple(sorted(set(left) - lost_data))
    known = set(left) | set(before.last_known_elr)
    last_known = tuple(sorted(known - set(target.isr) - set(eligible)))
    return msgspec.structs.replace(target, elr=eligible, last_known_elr=last_known)


def _elect(before: Partition, target: Partition, rules: Rules) -> tuple[int, bool]:
    """The leader (NO_LEADER if nobody can) and whether it has everything that was committed."""
    eligible = target.isr or target.elr
    if rules.election is Election.PREFERRED:
        order = (target.replicas[0], before.leader, *target.replicas)
    else:
        order = (before.leader, *target.replicas)
    for each in order:
        if each in eligible and rules.may_lead(each):
            return each, True
    if before.leader in eligible and rules.may_stay(before.leader):
        return before.leader, True
    if rules.election is Election.UNCLEAN:
        for each in target.replicas:
            if rules.may_lead(each):
                return each, False
    return NO_LEADER, True


def _directories(
    before: Partition, replicas: tuple[int, ...], lost_disk: frozenset[int], rules: Rules
) -> list[bytes] | None:
    """Each replica keeps its directory (KIP-858); a new one is told where to go if there is no choice."""
    pairs = zip(before.replicas, before.directories, strict=False)
    known = {each: directory for each, directory in pairs if each not in lost_disk}
    directories = tuple(known[each] if each in known else rules.directory_of(each) for each in replicas)
    return None if directories == before.directories else list(directories)


def _without(brokers: Iterable[int], others: Iterable[int]) -> tuple[int, ...]:
    excluded = set(others)
    return tuple(each for each in brokers if each not in excluded)


def _if_changed(before: tuple[int, ...], after: tuple[int, ...]) -> list[int] | None:
    return None if before == after else list(after)
