"""What the members of a KIP-848 group read, and when a change of it begins a new epoch."""

import hashlib
import logging
from collections.abc import Callable

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import Member
from penstock.groups.consumer.regex.automaton import Matcher
from penstock.groups.consumer.regex.syntax import InvalidPattern
from penstock.groups.consumer.situation import Situation
from penstock.protocol.messages.consumer_group_regular_expression_record import (
    ConsumerGroupRegularExpressionValue,
)

log = logging.getLogger(__name__)


def subscribe(
    group: ConsumerGroup,
    before: Member | None,
    member: Member,
    now: Situation,
    topics_of_regex: ConsumerGroupRegularExpressionValue | None = None,
) -> None:
    """Take in what a member says of itself; `before` is its last version, None for a new one.

    With a pattern that is new to the group come its topics, because finding them may fail.
    """
    is_changed = before is None or (before.topic_names, before.topic_regex) != (
        member.topic_names,
        member.topic_regex,
    )
    if before is None or before.metadata() != member.metadata():
        group.put_member(member)
    if topics_of_regex is not None and member.topic_regex not in group.regexes:
        group.put_regex(member.topic_regex, topics_of_regex)
    old_regex = member.topic_regex if before is None else before.topic_regex
    if old_regex in group.regexes and not group.has_subscriber(old_regex):
        group.put_regex(old_regex, None)
    if is_changed or group.must_refresh:
        refresh(group, now, is_changed=is_changed)


def refresh(group: ConsumerGroup, now: Situation, *, is_changed: bool) -> None:
    """Begin a new epoch if the subscriptions changed or the topics did."""
    group.must_refresh = False
    metadata_hash = hash_of_topics(group.topic_names(), now.image)
    if is_changed or metadata_hash != group.metadata_hash:
        group.bump_epoch(metadata_hash)


def resolved(
    regex: str, now: Situation, may_describe: Callable[[str], bool]
) -> ConsumerGroupRegularExpressionValue:
    """The topics that a pattern stands for now, internal ones too, as in Kafka. Raises `InvalidPattern`."""
    matches = Matcher(regex).matches
    return ConsumerGroupRegularExpressionValue(
        topics=sorted(filter(may_describe, filter(matches, now.image.topics))),
        version=now.image.offset,
        timestamp=now.moment.wall_ms,
    )


def follow_topics(group: ConsumerGroup, made: set[str], now: Situation) -> None:
    """Those that are gone leave the group's patterns at once; those that were made wait for `see_new_topics`."""
    if group.unseen_topics is not None:
        group.unseen_topics |= made
    for regex in list(group.regexes):
        _follow(group, regex, set(), now)


def see_new_topics(group: ConsumerGroup, may_describe: Callable[[str], bool], now: Situation) -> None:
    """See what the group's patterns stand for now that topics were made, as far as a member may know of them.

    As in Kafka, the member that happens to come first decides for the group.
    """
    unseen = now.image.topics if group.unseen_topics is None else group.unseen_topics
    if unseen and group.regexes:
        made = {name for name in unseen if name in now.image.topics and may_describe(name)}
        for regex in list(group.regexes):
            _follow(group, regex, made, now)
    group.unseen_topics = set()


def _follow(group: ConsumerGroup, regex: str, made: set[str], now: Situation) -> None:
    known = group.regexes[regex].topics
    try:
        matching = set(filter(Matcher(regex).matches, made))
    except InvalidPattern as error:  # it was valid when a member sent it, but these names cost too much
        log.warning("group %r does not get new topics for %r: %s", group.group_id, regex, error)
        matching = set()
    kept = {name for name in known if name in now.image.topics}
    topics = sorted(kept | matching)
    if topics != known:
        value = ConsumerGroupRegularExpressionValue(
            topics=topics, version=now.image.offset, timestamp=now.moment.wall_ms
        )
        group.put_regex(regex, value)
        group.must_refresh = True


def hash_of_topics(names: set[str], image: MetadataImage) -> int:
    """A number that changes when one of these topics is made, deleted, grows or moves to other racks (KIP-1101).

    0 when none of them exists. Other brokers' hashes need not be the same: a group that they wrote gets one epoch more.
    """
    topics = sorted(name for name in names if name in image.topics)
    if not topics:
        return 0
    racks = {broker.broker_id: broker.rack or "" for broker in image.brokers.values()}
    digest = hashlib.blake2b(digest_size=8)
    for name in topics:
        topic = image.topics[name]
        digest.update(b"%s%b%d;" % (name.encode(), topic.topic_id, len(topic.partitions)))
        if any(racks.values()):
            for partition in topic.partitions.values():
                digest.update(",".join(sorted({racks.get(each, "") for each in partition.replicas})).encode())
    return int.from_bytes(digest.digest(), "big", signed=True) or 1
