"""Members of share groups that scenarios need."""

import base64
import time
from typing import Any, Final

from tests.interop.answers.asking import Asker

MEMBER: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
OTHER: Final = "AAAAAAAAAAAAAAAAAAAAAg"
_GROUP: Final = 32
_WITHIN_S: Final = 20.0
_NOT_YET: Final = (14, 15, 16)


def await_coordinators(asker: Asker, topic_id: bytes) -> None:
    """Create the internal topics if these are the first groups of a broker, and wait for their leaders."""
    encoded = base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
    for kind, key in ((0, "anyone"), (2, f"anyone:{encoded}:0")):
        asker.quietly("FindCoordinator", 6, key_type=kind, coordinator_keys=[key])
    until = time.monotonic() + _WITHIN_S
    while asker.quietly("ShareGroupDescribe", 1, group_ids=["anyone"])["groups"][0]["error_code"] in _NOT_YET:
        assert time.monotonic() < until, "there is no coordinator"
        time.sleep(0.05)


def configure(asker: Asker, group: str, **settings: str) -> None:
    """Set the group's start offset and similar settings; its assignment interval is as short as possible."""
    wanted = {"share_assignment_interval_ms": "0", **settings}
    configs = [
        {"name": name.replace("_", "."), "config_operation": 0, "value": value}
        for name, value in wanted.items()
    ]
    resource = {"resource_type": _GROUP, "resource_name": group, "configs": configs}
    done = asker.quietly("IncrementalAlterConfigs", 1, resources=[resource], validate_only=False)
    assert done["responses"][0]["error_code"] == 0, done


def heartbeat(asker: Asker, label: str | None, *, topics: list[str] | None, **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "member_id": MEMBER,
        "member_epoch": 0,
        "subscribed_topic_names": topics,
        **changes,
    }
    if label is None:
        return asker.quietly("ShareGroupHeartbeat", 1, **fields)
    return asker.ask(label, "ShareGroupHeartbeat", 1, **fields)


def join(asker: Asker, group: str, topic: str, *, partitions: int) -> int:
    """Join, send heartbeats until the partitions are assigned, and return the epoch."""
    answer = heartbeat(asker, None, topics=[topic], group_id=group)
    until = time.monotonic() + _WITHIN_S
    while (
        sum(len(each["partitions"]) for each in (answer["assignment"] or {}).get("topic_partitions", ()))
        < partitions
    ):
        assert answer["error_code"] == 0, answer
        assert time.monotonic() < until, answer
        time.sleep(0.02)
        epoch = answer["member_epoch"]
        answer = heartbeat(asker, None, topics=None, group_id=group, member_epoch=epoch)
    return int(answer["member_epoch"])
