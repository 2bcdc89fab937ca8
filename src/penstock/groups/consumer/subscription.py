"""The subscriptions of a KIP-848 group, and the topics that match its patterns. Changes begin a new epoch."""

import logging
from collections.abc import Callable

from penstock.config.patterns import InvalidPattern, Pattern
from penstock.groups.base.context import ConsumerContext
from penstock.groups.base.topics import hash_topics
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import Member
from penstock.groups.consumer.records import ResolvedRegex

log = logging.getLogger(__name__)

_WORK_MAX = 1_000_000_000  # for all topics; at most some tenths of a second


def subscribe(
    group: ConsumerGroup,
    before: Member | None,
    member: Member,
    ctx: ConsumerContext,
    resolved: ResolvedRegex | None = None,
) -> None:
    """Record a new or changed member; `before` is its last version.

    The caller resolves a pattern that is new to the group, because that may fail.
    """
    is_changed = before is None or (before.topic_names, before.topic_regex) != (
        member.topic_names,
        member.topic_regex,
    )
    if before is None or before.metadata() != member.metadata():
        group.put_member(member)
    if resolved is not None and member.topic_regex not in group.regexes:
        group.put_regex(member.topic_regex, resolved)
    old_regex = member.topic_regex if before is None else before.topic_regex
    if old_regex in group.regexes and not group.has_subscriber(old_regex):
        group.put_regex(old_regex, None)
    if is_changed or group.must_refresh:
        refresh(group, ctx, is_changed=is_changed)


def refresh(group: ConsumerGroup, ctx: ConsumerContext, *, is_changed: bool) -> None:
    """Begin a new epoch if the subscriptions or the topics changed."""
    group.must_refresh = False
    metadata_hash = hash_topics(group.topic_names(), ctx.image)
    if is_changed or metadata_hash != group.metadata_hash:
        group.bump_epoch(metadata_hash)


def resolve(regex: str, ctx: ConsumerContext, may_describe: Callable[[str], bool]) -> ResolvedRegex:
    """Find the topics that match a pattern, internal ones too, as Kafka does. Raises `InvalidPattern`."""
    matches = _pattern(regex).matches
    return _resolved(sorted(filter(may_describe, filter(matches, ctx.image.topics))), ctx)


def _pattern(regex: str) -> Pattern:
    return Pattern(regex, work_max=_WORK_MAX)


def _resolved(topics: list[str], ctx: ConsumerContext) -> ResolvedRegex:
    return ResolvedRegex(topics=topics, version=ctx.image.offset, timestamp=ctx.now.wall_ms)


def on_topics_changed(group: ConsumerGroup, created: set[str], ctx: ConsumerContext) -> None:
    """Remove deleted topics from the group's patterns at once. Created topics wait for `match_created_topics`."""
    if group.unmatched_topics is not None:
        group.unmatched_topics |= created
    for regex in list(group.regexes):
        _update(group, regex, set(), ctx)


def match_created_topics(
    group: ConsumerGroup, may_describe: Callable[[str], bool], ctx: ConsumerContext
) -> None:
    """Match created topics against the group's patterns, as far as a member may describe them.

    As in Kafka, the member that sends the next heartbeat decides for the group.
    """
    unmatched = ctx.image.topics if group.unmatched_topics is None else group.unmatched_topics
    if unmatched and group.regexes:
        created = {name for name in unmatched if name in ctx.image.topics and may_describe(name)}
        for regex in list(group.regexes):
            _update(group, regex, created, ctx)
    group.unmatched_topics = set()


def _update(group: ConsumerGroup, regex: str, created: set[str], ctx: ConsumerContext) -> None:
    known = group.regexes[regex].topics
    try:
        matching = set(filter(_pattern(regex).matches, created))
    except InvalidPattern as error:  # it was valid when a member sent it, but these names cost too much
        log.warning(
            "Cannot match new topics against a pattern: %s. group=%s pattern=%s", error, group.group_id, regex
        )
        matching = set()
    topics = sorted({name for name in known if name in ctx.image.topics} | matching)
    if topics != known:
        group.put_regex(regex, _resolved(topics, ctx))
        group.must_refresh = True
