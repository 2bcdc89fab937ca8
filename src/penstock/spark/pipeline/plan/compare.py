"""Compares the record of a query with the query that the file describes now. No I/O.

Spark resumes a query by position: the n-th source gets the n-th offsets of the checkpoint, the n-th operator the n-th
state. It refuses another number of sources and another schema of the state, but not another meaning of the same schema
(`max` instead of `min`, windows of another size). Both cannot go on here.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from penstock.spark.pipeline.plan.findings import Finding, Ways
from penstock.spark.pipeline.plan.record import Columns, OperatorRecord, QueryRecord, SourceRecord


def compare_query(old: QueryRecord, new: QueryRecord, ways: Ways) -> list[Finding]:
    found = [*_source_findings(old.sources, new.sources, ways), *_state_findings(old, new, ways)]
    if not found:
        found += _stateless_findings(old, new, ways)
    if old.target != new.target:
        message = (
            f"it wrote to {old.target} and writes to {new.target} now; what it wrote before is not copied"
        )
        found.append(ways.goes_on(message, ways.reset))
    return found + list(_mode_findings(old, new, ways))


# -- sources

_LEFT_BEHIND = "what it no longer finds is left behind, because of `failOnDataLoss: false`"
_BY_NUMBER = "Spark keeps their offsets by number"


def _source_findings(
    old: Sequence[SourceRecord], new: Sequence[SourceRecord], ways: Ways
) -> Iterator[Finding]:
    if len(old) != len(new):
        listed_old, listed_new = (", ".join(each.label for each in some) or "nothing" for some in (old, new))
        message = (
            f"it read {len(old)} streams ({listed_old}) and reads {len(new)} now ({listed_new}); {_BY_NUMBER}"
        )
        yield ways.cannot_go_on(message, ways.reset, ways.new_output, ways.undo)
        return
    moved = {_subscription(each) for each in old} == {_subscription(each) for each in new}
    if moved and [_subscription(each) for each in old] != [_subscription(each) for each in new]:
        yield ways.cannot_go_on(f"its streams are in another order; {_BY_NUMBER}", ways.undo, ways.reset)
        return
    for before, now in zip(old, new, strict=True):
        yield from _subscription_findings(before, now, ways)


def _subscription(source: SourceRecord) -> tuple[object, ...]:
    return (frozenset(source.topics), source.pattern)


def _subscription_findings(old: SourceRecord, new: SourceRecord, ways: Ways) -> Iterator[Finding]:
    if _subscription(old) == _subscription(new):
        return
    if new.leaves_losses_behind:
        yield ways.goes_on(f"it read {old.label} and reads {new.label} now; {_LEFT_BEHIND}")
        return
    if old.pattern != new.pattern:
        yield ways.needs_change(
            f"it read {old.label} and reads {new.label} now; topics of the checkpoint that it no longer reads count as "
            "lost",
            "set the option `failOnDataLoss: false` of the source for one run, if they are to be left behind",
            ways.reset,
        )
        return
    gone = [topic for topic in old.topics if topic not in new.topics]
    added = [topic for topic in new.topics if topic not in old.topics]
    if gone:
        yield ways.cannot_go_on(
            f"source {new.name} no longer reads topic {', '.join(gone)}, whose offsets are in the checkpoint",
            ways.reset,
            "set the option `failOnDataLoss: false` of the source for one run, which leaves the topic behind",
            ways.undo,
        )
    elif added:
        yield ways.goes_on(f"source {new.name} reads topic {', '.join(added)} too, from its beginning")


# -- state


def _state_findings(old: QueryRecord, new: QueryRecord, ways: Ways) -> Iterator[Finding]:
    if old.operators is None or new.operators is None:
        return
    for number, (before, now) in enumerate(zip_longest(old.operators, new.operators), start=1):
        if before != now:
            yield ways.cannot_go_on(
                f"its state does not fit: {_difference(number, before, now)}{_changed_parts(old, new)}",
                ways.reset,
                ways.new_output,
                ways.undo,
                ways.accept,
            )
            return
    if old.is_stateful and new.shuffle_partitions != old.shuffle_partitions and old.shuffle_partitions:
        yield ways.goes_on(
            f"it keeps the {old.shuffle_partitions} shuffle partitions that its state has, not "
            f"{new.shuffle_partitions}",
            ways.reset,
        )


def _difference(number: int, old: OperatorRecord | None, new: OperatorRecord | None) -> str:
    if old is None:
        assert new is not None
        return f"{_name(new)} is new"
    if new is None:
        return f"{_name(old)} is gone"
    if old.kind != new.kind:
        return f"operator {number} was {_name(old)} and is {_name(new)} now"
    if old.keys != new.keys:
        return f"the keys of {_name(old)} were {_listed(old.keys)} and are {_listed(new.keys)} now"
    if old.windows != new.windows:
        return f"the windows of {_name(old)} have another size, slide or gap"
    return f"{_name(old)} kept {_listed(old.values)} and keeps {_listed(new.values)} now"


def _name(operator: OperatorRecord) -> str:
    return f"{operator.kind.lower()} by {', '.join(text for text, _ in operator.keys) or 'nothing'}"


def _listed(columns: Columns) -> str:
    return ", ".join(f"{text} {kind}".strip() for text, kind in columns) or "nothing"


# -- the rest


def _changed_parts(old: QueryRecord, new: QueryRecord) -> str:
    changed = [name for name in new.parts if old.parts.get(name) != new.parts[name]]
    return f" (changed: {', '.join(changed)})" if changed else ""


def _stateless_findings(old: QueryRecord, new: QueryRecord, ways: Ways) -> Iterator[Finding]:
    changed = _changed_parts(old, new)
    if old.columns != new.columns:
        message = f"its columns were {_listed(old.columns)} and are {_listed(new.columns)} now{changed}"
    elif changed:
        message = f"its definition has changed{changed}"
    else:
        return
    yield ways.goes_on(
        f"{message}. It applies to records from now on; rows that were written before stay as they are",
        ways.new_output,
    )


def _mode_findings(old: QueryRecord, new: QueryRecord, ways: Ways) -> Iterator[Finding]:
    if old.mode == new.mode:
        return
    message = f"its mode was {old.mode} and is {new.mode} now"
    if old.is_stateful:
        yield ways.cannot_go_on(
            f"{message}: groups that were written in {old.mode} mode would be written again or never",
            ways.reset,
            ways.new_output,
            ways.undo,
            ways.accept,
        )
    else:
        yield ways.goes_on(f"{message}, for the rows from now on")
