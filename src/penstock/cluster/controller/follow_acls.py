"""Decides which ACLs a mirror creates and deletes here, so that they are those of its source.

Only ACLs that the mirror has created are deleted; their ids are settings of (`MIRRORED_ACLS`, mirror).
"""

import random
from collections.abc import Iterable
from typing import Final

from penstock.cluster.controller.acls import decide_create_acls
from penstock.cluster.controller.decision import RECORDS_PER_DECISION_MAX, Decision
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MIRRORED_ACLS, MirrorState
from penstock.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    ConfigRecord,
    MetadataRecord,
    RemoveAccessControlEntryRecord,
)
from penstock.security.acl import AccessControlEntry
from penstock.security.resources import ResourceType

_COPIED: Final = frozenset({ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID})
"""ACLs of the cluster itself and of users are about the source, not about what is copied from it."""


def decide_follow_acls(
    image: MetadataImage, randomness: random.Random, name: str, there: Iterable[AccessControlEntry]
) -> Decision[int]:
    """The result is the number of changes."""
    mirror = image.mirror(name)
    if mirror is None or mirror.state not in (MirrorState.RUNNING, MirrorState.PROMOTING):
        return Decision([], 0)
    wanted = [each for each in dict.fromkeys(there) if each.resource_type in _COPIED]
    own = {bytes.fromhex(each) for each in image.configs.get((MIRRORED_ACLS, name), {})}
    existing = set(image.acls.values())
    missing = [each for each in wanted if each not in existing]
    created, _ = decide_create_acls(image, missing[: RECORDS_PER_DECISION_MAX // 4], randomness)
    records: list[MetadataRecord] = []
    for record in created:
        records.append(record)
        if isinstance(record, AccessControlEntryRecord):
            records.append(_note(name, record.id, ""))
    kept = set(wanted)
    for acl_id in sorted(own)[: RECORDS_PER_DECISION_MAX // 4]:
        entry = image.acls.get(acl_id)
        if entry is not None and entry in kept:
            continue
        if entry is not None:
            records.append(RemoveAccessControlEntryRecord(id=acl_id))
        records.append(_note(name, acl_id, None))
    return Decision(records, len(records))


def _note(name: str, acl_id: bytes, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=MIRRORED_ACLS, resource_name=name, name=acl_id.hex(), value=value)
