"""Elections, reassignments, log directories, features, users, quotas, ACLs without an authorizer."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic

TOPIC = "administered"


def ask_all(asker: Asker) -> None:
    make_topic(asker, TOPIC)
    _elections(asker)
    _reassignments(asker)
    _features(asker)
    _users(asker)
    _quotas(asker)
    _acls(asker)
    for version in range(1, 6):
        topics = [{"topic": TOPIC, "partitions": [0, 9]}]
        asker.ask("some", "DescribeLogDirs", version, topics=topics)
    asker.ask("unknown", "UnregisterBroker", 0, broker_id=77)
    asker.ask("handshake", "SaslHandshake", 1, mechanism="PLAIN")
    asker.ask("without a handshake", "SaslAuthenticate", 2, auth_bytes=b"x")


def _elections(asker: Asker) -> None:
    for label, kind, topic, partitions in (
        ("not needed", 0, TOPIC, [0]), ("unknown partition", 0, TOPIC, [9]), ("unknown topic", 0, "nobody", [0]),
        ("unclean", 1, TOPIC, [0]), ("of type 7", 7, TOPIC, [0]), ("twice", 0, TOPIC, [0, 0]),
    ):  # fmt: skip
        for version in (1, 2):
            wanted = [{"topic": topic, "partitions": partitions}]
            fields = {"election_type": kind, "timeout_ms": 5000}
            asker.ask(label, "ElectLeaders", version, topic_partitions=wanted, **fields)


def _reassignments(asker: Asker) -> None:
    def ask(label: str, replicas: list[int] | None, partition: int = 0, topic: str = TOPIC) -> None:
        part = {"partition_index": partition, "replicas": replicas}
        topics = [{"name": topic, "partitions": [part]}]
        asker.ask(label, "AlterPartitionReassignments", 1, timeout_ms=5000, topics=topics)

    ask("to the same", [1])
    ask("to nobody", [9])
    ask("to none", [])
    ask("twice", [1, 1])
    ask("to -1", [-1])
    ask("cancel", None)
    ask("unknown partition", [1], 9)
    ask("unknown topic", [1], 0, "nobody")
    for label, topics in (
        ("all", None), ("unknown", [{"name": "nobody", "partition_indexes": [0]}]),
        ("one", [{"name": TOPIC, "partition_indexes": [0, 9]}]),
    ):  # fmt: skip
        asker.ask(label, "ListPartitionReassignments", 0, timeout_ms=5000, topics=topics)


def _features(asker: Asker) -> None:
    for version in (0, 1, 2):
        for label, feature, level, kind in (
            ("unknown", "nothing", 1, 1), ("too high", "group.version", 9, 1), ("the same", "group.version", 1, 1),
            ("lower", "group.version", 0, 1), ("negative", "group.version", -1, 2),
        ):  # fmt: skip
            way = {"upgrade_type": kind} if version else {"allow_downgrade": kind > 1}
            update = {"feature": feature, "max_version_level": level, **way}
            asker.ask(label, "UpdateFeatures", version, timeout_ms=5000, feature_updates=[update])
        asker.ask("none", "UpdateFeatures", version, timeout_ms=5000, feature_updates=[])


def _users(asker: Asker) -> None:
    def user(name: str = "user", **changes: Any) -> dict[str, Any]:
        given = {"mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"p" * 32}
        return {"name": name, **given, **changes}

    def alter(label: str, *upsertions: dict[str, Any], deletions: tuple[dict[str, Any], ...] = ()) -> None:
        changes = {"deletions": list(deletions), "upsertions": list(upsertions)}
        asker.ask(label, "AlterUserScramCredentials", 0, **changes)

    alter("delete an unknown one", deletions=({"name": "nobody", "mechanism": 1},))
    alter("delete a bad mechanism", deletions=({"name": "nobody", "mechanism": 9},))
    alter("delete an unnamed one", deletions=({"name": "", "mechanism": 1},))
    alter("too few iterations", user(iterations=4095))
    alter("too many iterations", user(iterations=16385))
    alter("bad mechanism", user(mechanism=0))
    alter("twice", user(), user())
    alter("delete and set", user(), deletions=({"name": "user", "mechanism": 1},))
    alter("unnamed", user(name=""))
    alter("good", user())
    alter("good of another mechanism", user(mechanism=2, salted_password=b"p" * 64))
    for label, users in (("known", ["user"]), ("unknown", ["nobody"]), ("twice", ["user", "user"])):
        asker.ask(label, "DescribeUserScramCredentials", 0, users=[{"name": each} for each in users])
    asker.ask("all", "DescribeUserScramCredentials", 0, users=None)


def _quotas(asker: Asker) -> None:
    def alter(label: str, entity: list[tuple[str, str]], key: str, value: float, **op: Any) -> None:
        entry = {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            "ops": [{"key": key, "value": value, "remove": False, **op}],
        }
        asker.ask(label, "AlterClientQuotas", 1, entries=[entry], validate_only=False)

    rate = "producer_byte_rate"
    alter("good", [("user", "q")], rate, 1000.0)
    alter("unknown key", [("user", "q")], "nothing", 1.0)
    alter("negative", [("user", "q")], rate, -1.0)
    alter("zero", [("user", "q")], rate, 0.0)
    alter("a fraction", [("user", "q")], rate, 1.5)
    alter("unknown entity", [("nothing", "q")], rate, 1.0)
    alter("no entity", [], rate, 1.0)
    alter("key of no address", [("ip", "1.2.3.4")], rate, 1.0)
    alter("no address", [("ip", "a b")], "connection_creation_rate", 1.0)
    alter("unnamed", [("user", "")], rate, 1.0)

    def ask(label: str, kind: str, match_type: int, match: str | None) -> None:
        component = {"entity_type": kind, "match_type": match_type, "match": match}
        asker.ask(label, "DescribeClientQuotas", 1, components=[component], strict=False)

    ask("known", "user", 0, "q")
    ask("unknown", "user", 0, "nobody")
    ask("of a bad entity", "nothing", 0, "q")
    ask("of a bad kind of match", "user", 9, "q")
    alter("remove", [("user", "q")], rate, 0.0, remove=True)
    ask("removed", "user", 0, "q")


def _acls(asker: Asker) -> None:
    acl = {"resource_type": 2, "resource_name": "t", "principal": "User:u", "host": "*"}
    for version in (1, 2, 3):
        creation = {**acl, "resource_pattern_type": 3, "operation": 3, "permission_type": 3}
        asker.ask("without an authorizer", "CreateAcls", version, creations=[creation])
        asker.ask(
            "without an authorizer",
            "DescribeAcls",
            version,
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
