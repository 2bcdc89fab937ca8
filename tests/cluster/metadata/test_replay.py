import pytest

from penstock.cluster.metadata import replay
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.protocol.messages import metadata_records as mr
from tests.cluster.metadata.topic_records import A, B, image_with_topic, partition


def test_a_new_topic_is_found_by_name_and_by_id() -> None:
    image = image_with_topic()
    assert image.topic("t.a") is image.topic_by_id(A)
    assert image.partition("t.a", 0) is not None
    assert image.partition("t.a", 1) is None
    assert image.partition("other", 0) is None
    assert image.offset == 1


def test_a_deleted_topic_is_removed_with_its_settings_and_its_reserved_name() -> None:
    image = image_with_topic()
    replay.apply(
        image, [mr.ConfigRecord(resource_type=2, resource_name="t.a", name="retention.ms", value="1")], 2
    )
    delta = replay.apply(image, [mr.RemoveTopicRecord(topic_id=A)], 3)
    assert list(delta.topics_deleted[A].partitions) == [0]
    assert delta.configs_changed == {(ResourceType.TOPIC, "t.a")}
    assert (image.topics, image.topics_by_id, image.configs, image.names_by_collision_key) == ({}, {}, {}, {})


def test_the_remaining_one_of_two_colliding_names_stays_reserved() -> None:
    image = image_with_topic()
    replay.apply(image, [mr.TopicRecord(name="t_a", topic_id=B)], 2)
    replay.apply(image, [mr.RemoveTopicRecord(topic_id=A)], 3)
    assert image.names_by_collision_key == {"t_a": {"t_a"}}


def test_only_a_change_that_names_a_leader_starts_a_new_leader_epoch() -> None:
    image = image_with_topic()
    replay.apply(image, [mr.PartitionChangeRecord(topic_id=A, partition_id=0, isr=[1])], 2)
    shrunk = image.partition("t.a", 0)
    assert shrunk is not None
    assert (shrunk.isr, shrunk.leader, shrunk.leader_epoch, shrunk.partition_epoch) == ((1,), 1, 0, 1)
    replay.apply(image, [mr.PartitionChangeRecord(topic_id=A, partition_id=0, leader=1)], 3)
    again = image.partition("t.a", 0)
    assert again is not None
    assert (again.leader, again.leader_epoch, again.partition_epoch) == (1, 1, 2)


def test_a_change_applies_every_field_that_it_names() -> None:
    image = image_with_topic()
    change = mr.PartitionChangeRecord(
        topic_id=A,
        partition_id=0,
        isr=[3],
        leader=3,
        replicas=[3, 4],
        removing_replicas=[1],
        adding_replicas=[3],
        leader_recovery_state=1,
        directories=[A, B],
        eligible_leader_replicas=[4],
        last_known_elr=[2],
    )
    replay.apply(image, [change], 2)
    after = image.partition("t.a", 0)
    assert after is not None
    assert (after.replicas, after.isr, after.leader) == ((3, 4), (3,), 3)
    assert (after.removing_replicas, after.adding_replicas, after.leader_recovery_state) == ((1,), (3,), 1)
    assert (after.directories, after.elr, after.last_known_elr) == ((A, B), (4,), (2,))


def test_a_setting_is_set_changed_and_removed() -> None:
    image = MetadataImage("c")

    def configure(value: str | None) -> None:
        record = mr.ConfigRecord(resource_type=4, resource_name="", name="max.connections", value=value)
        delta = replay.apply(image, [record], image.offset + 1)
        assert delta.configs_changed == {(ResourceType.BROKER, "")}

    configure("1")
    configure("2")
    assert image.cluster_settings() == {"max.connections": "2"}
    configure(None)
    assert image.configs == {}
    configure(None)


def test_a_broker_registers_is_fenced_shuts_down_and_leaves() -> None:
    image = MetadataImage("c")
    endpoint = mr.BrokerEndpoint(name="SSL", host="h", port=1, security_protocol=1)
    feature = mr.BrokerFeature(name="f", min_supported_version=1, max_supported_version=2)
    register = mr.RegisterBrokerRecord(
        broker_id=5, broker_epoch=7, end_points=[endpoint], features=[feature], rack="r", fenced=True
    )
    delta = replay.apply(image, [register], 0)
    assert delta.brokers_changed == {5}
    broker = image.brokers[5]
    assert (broker.rack, broker.is_active, broker.features) == ("r", False, {"f": (1, 2)})
    found = broker.endpoint("SSL")
    assert found is not None
    assert found.security_protocol == "SSL"
    assert broker.endpoint("PLAINTEXT") is None
    steps: list[tuple[mr.MetadataRecord, bool]] = [
        (mr.BrokerRegistrationChangeRecord(broker_id=5, broker_epoch=7, fenced=-1), True),
        (mr.BrokerRegistrationChangeRecord(broker_id=5, broker_epoch=7, in_controlled_shutdown=1), False),
        (mr.BrokerRegistrationChangeRecord(broker_id=5, broker_epoch=7, in_controlled_shutdown=-1), True),
        (mr.FenceBrokerRecord(id=5, epoch=7), False),
        (mr.UnfenceBrokerRecord(id=5, epoch=7), True),
    ]
    for offset, (record, is_active) in enumerate(steps, start=1):
        replay.apply(image, [record], offset)
        assert image.brokers[5].is_active is is_active
        assert [each.broker_id for each in image.active_brokers()] == ([5] if is_active else [])
    replay.apply(image, [mr.UnregisterBrokerRecord(broker_id=5, broker_epoch=7)], 9)
    assert image.brokers == {}


def test_a_feature_is_finalized_at_a_level_and_level_0_disables_it() -> None:
    image = MetadataImage("c")
    replay.apply(image, [mr.FeatureLevelRecord(name="f", feature_level=2)], 4)
    assert (image.features.finalized, image.features.epoch) == ({"f": 2}, 4)
    replay.apply(image, [mr.FeatureLevelRecord(name="f", feature_level=0)], 6)
    assert (image.features.finalized, image.features.epoch) == ({}, 6)


def test_credentials_acls_and_quotas_are_added_and_removed() -> None:
    image = MetadataImage("c")
    user = [
        mr.EntityData(entity_type="user", entity_name=None),
        mr.EntityData(entity_type="client-id", entity_name="x"),
    ]
    came = replay.apply(
        image,
        [
            mr.UserScramCredentialRecord(
                name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
            ),
            mr.AccessControlEntryRecord(id=A, resource_type=2, resource_name="t", principal="User:u"),
            mr.ClientQuotaRecord(entity=user, key="producer_byte_rate", value=5.0),
        ],
        2,
    )
    assert (came.credentials_changed, came.acls_changed, came.quotas_changed) == (True, {A}, True)
    assert image.credentials["u", 1].iterations == 4096
    assert image.acls[A].principal == "User:u"
    assert image.quotas == {(("client-id", "x"), ("user", None)): {"producer_byte_rate": 5.0}}
    replay.apply(
        image,
        [
            mr.RemoveUserScramCredentialRecord(name="u", mechanism=1),
            mr.RemoveAccessControlEntryRecord(id=A),
            mr.ClientQuotaRecord(entity=user, key="producer_byte_rate", remove=True),
        ],
        5,
    )
    assert (image.credentials, image.acls, image.quotas) == ({}, {}, {})


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (mr.TopicRecord(name="t.a", topic_id=B), "topic t.a is created a second time"),
        (mr.TopicRecord(name="u", topic_id=A), "topic u has the id of t.a"),
        (mr.RemoveTopicRecord(topic_id=B), "which does not exist"),
        (partition(topic_id=B), "which does not exist"),
        (
            mr.PartitionChangeRecord(topic_id=A, partition_id=9),
            "partition t.a-9 is changed but does not exist",
        ),
        (mr.FenceBrokerRecord(id=1, epoch=1), "broker 1 of epoch 1, which is not registered"),
        (mr.UnregisterBrokerRecord(broker_id=1, broker_epoch=1), "which is not registered"),
        (mr.ProducerIdsRecord(next_producer_id=0), "producer ids go back from 0 to 0"),
        (mr.AbortTransactionRecord(), "ends that has not begun"),
    ],
)
def test_an_inconsistent_record_is_refused(record: mr.MetadataRecord, reason: str) -> None:
    with pytest.raises(MetadataError, match=reason):
        replay.apply(image_with_topic(), [record], 2)


def test_every_kind_of_record_can_be_applied() -> None:
    assert set(replay._APPLIERS) == set(mr.SPEC_OF)


def test_the_eligible_leaders_of_one_topic_or_of_all_are_cleared() -> None:
    image = image_with_topic()
    replay.apply(image, [mr.TopicRecord(name="other", topic_id=B), partition(0, topic_id=B)], 2)
    for topic_id in (A, B):
        change = mr.PartitionChangeRecord(
            topic_id=topic_id, partition_id=0, eligible_leader_replicas=[2], last_known_elr=[3]
        )
        replay.apply(image, [change], image.offset + 1)
    epoch = image.topics["other"].partitions[0].partition_epoch
    delta = replay.apply(image, [mr.ClearElrRecord(topic_name="other")], image.offset + 1)
    cleared = image.topics["other"].partitions[0]
    assert (cleared.elr, cleared.last_known_elr, cleared.partition_epoch) == ((), (), epoch + 1)
    assert list(delta.partitions) == [(B, 0)]
    assert eligible(image, "t.a") == [2]
    delta = replay.apply(image, [mr.ClearElrRecord()], image.offset + 1)
    assert eligible(image, "t.a") == []
    assert list(delta.partitions) == [(A, 0)], "the other has none to clear"


def eligible(image: MetadataImage, topic: str) -> list[int]:
    return list(image.topics[topic].partitions[0].elr)


def test_the_records_of_a_metadata_transaction_apply_together_when_it_ends() -> None:
    image = image_with_topic()
    begun = replay.apply(
        image, [mr.BeginTransactionRecord(name="n"), mr.TopicRecord(name="new", topic_id=B)], 3
    )
    assert image.open_transaction is not None
    assert (begun.topics_created, image.topic("new"), image.offset) == ({}, None, 3)
    replay.apply(image, [partition(0, topic_id=B)], 4)
    ended = replay.apply(image, [mr.EndTransactionRecord()], 5)
    assert list(ended.topics_created) == [B]
    assert image.partition("new", 0) is not None
    assert image.open_transaction is None


def test_the_records_of_an_aborted_metadata_transaction_are_dropped() -> None:
    image = image_with_topic()
    begin, removed = mr.BeginTransactionRecord(name="n"), mr.RemoveTopicRecord(topic_id=A)
    delta = replay.apply(
        image, [begin, removed, mr.AbortTransactionRecord(), mr.TopicRecord(name="b", topic_id=B)], 5
    )
    assert (delta.topics_deleted, image.open_transaction) == ({}, None)
    assert list(image.topics) == ["t.a", "b"]


def test_a_metadata_transaction_inside_another_is_refused() -> None:
    image = image_with_topic()
    begin = mr.BeginTransactionRecord(name="n")
    with pytest.raises(MetadataError, match="begins inside another"):
        replay.apply(image, [begin, begin], 3)
