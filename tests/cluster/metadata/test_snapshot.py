from penstock.cluster.controller.broker_health import decide_fence
from penstock.cluster.controller.reassignments import Move, decide_reassignments
from penstock.cluster.metadata import replay
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.records import decode_batches, encode_batch
from penstock.cluster.metadata.snapshot import records_of
from penstock.protocol.messages import metadata_records as mr
from tests.cluster.support import CONFIG, commit, image_of, with_topic

SLOTS = [name for name in MetadataImage.__slots__ if name not in ("features", "topics", "topics_by_id")]


KEPT: list[mr.MetadataRecord] = [
    mr.RegisterControllerRecord(
        controller_id=3,
        incarnation_id=b"i" * 16,
        end_points=[mr.ControllerEndpoint(name="CONTROLLER", host="h", port=9093, security_protocol=0)],
        features=[
            mr.ControllerFeature(name="kraft.version", min_supported_version=0, max_supported_version=1)
        ],
    ),
    mr.DelegationTokenRecord(
        owner="User:a", requester="User:b", renewers=["User:c"], max_timestamp=3, token_id="t"
    ),
    mr.ZkMigrationStateRecord(zk_migration_state=3),
    mr.BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=1, cordoned_log_dirs=[b"d" * 16]),
]
"""Records of Kafka's that have no effect here."""


def contents(image: MetadataImage) -> dict[str, object]:
    found: dict[str, object] = {name: getattr(image, name) for name in SLOTS if name != "offset"}
    found["topics"] = {name: (topic.topic_id, topic.partitions) for name, topic in image.topics.items()}
    found["ids"] = {topic_id: topic.name for topic_id, topic in image.topics_by_id.items()}
    found["features"] = image.features.finalized
    return found


def test_an_image_round_trips_through_a_snapshot() -> None:
    image = image_of(brokers=4, fenced=[4], racks=["a", "b", None, "c"])
    commit(image, [mr.FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)])
    with_topic(image, "t.with_collision", partitions=3, factor=3)
    with_topic(image, "alone", partitions=3)
    commit(image, decide_fence(image, CONFIG, 1).records)
    move = Move(topic="t.with_collision", partition=0, replicas=(2, 3, 4))
    commit(image, decide_reassignments(image, CONFIG, [move]).records)
    commit(
        image,
        [
            mr.ConfigRecord(
                resource_type=ResourceType.TOPIC, resource_name="alone", name="retention.ms", value="5"
            ),
            mr.ConfigRecord(
                resource_type=ResourceType.BROKER, resource_name="", name="log.retention.ms", value="6"
            ),
            mr.ProducerIdsRecord(broker_id=2, broker_epoch=1, next_producer_id=3000),
            mr.UserScramCredentialRecord(
                name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
            ),
            mr.AccessControlEntryRecord(id=b"a" * 16, resource_type=2, resource_name="t", principal="User:u"),
            mr.ClientQuotaRecord(
                entity=[mr.EntityData(entity_type="user", entity_name=None)],
                key="producer_byte_rate",
                value=1.5,
            ),
        ],
    )
    commit(image, KEPT)
    again = MetadataImage(image.cluster_id)
    for last_offset, records in decode_batches(encode_batch(records_of(image), 0, 30)):
        replay.apply(again, records, last_offset)
    assert contents(again) == contents(image)


def test_an_empty_image_needs_no_records() -> None:
    assert list(records_of(MetadataImage("c"))) == []
