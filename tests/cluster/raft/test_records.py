"""The quorum's own records, as Kafka's tools read them."""

from penstock.cluster.raft.records import leader_change_batch
from penstock.protocol.messages.leader_change_message import LeaderChangeMessage, Voter, decode
from penstock.protocol.records.record import iter_records
from tests.cluster.raft.support import voters


def test_a_leader_change_record_has_the_only_version_that_kafka_writes() -> None:
    batch = leader_change_batch(2, voters(1, 2, 3), [3, 2], offset=5, epoch=4, timestamp=9)
    (record,) = iter_records(batch)
    value = bytes(record.value or b"")
    # DumpLogSegments always decodes it as version 0.
    assert decode(value, 0) == LeaderChangeMessage(
        version=0,
        leader_id=2,
        voters=[Voter(voter_id=1), Voter(voter_id=2), Voter(voter_id=3)],
        granting_voters=[Voter(voter_id=2), Voter(voter_id=3)],
    )
