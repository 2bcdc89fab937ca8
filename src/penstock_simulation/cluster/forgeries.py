"""Forged requests of a broker, with all that a client can find out about the cluster.

Ids, epochs and offsets are partly right, partly nearly right, and partly as extreme as the protocol allows.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.topic_names import METADATA_TOPIC_ID
from penstock.protocol import apis
from penstock.protocol.headers import RequestHeader, encode_request_header
from penstock.security.principal import Principal, encode_principal
from penstock.server.broker import Broker
from penstock_simulation.cluster.clients.client import build_request
from penstock_simulation.cluster.plan import INTERNAL, LEDGER, ORDERS, PARTITIONS, SHARE_GROUP
from penstock_simulation.cluster.values import PartitionName

HOSTILE = "hostile"
"""The name of the machine, and the prefix of the topics that it asks for."""
PORT = 9092
HOSTILE_ID = 66
_METADATA = "__cluster_metadata"
_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1
_ENDPOINT = {"name": "PLAINTEXT", "host": HOSTILE, "port": PORT}

Fields = dict[str, Any]


class Forgery(NamedTuple):
    key: int
    version: int
    request: Any
    is_for_brokers: bool = True
    """False when administrators may send such requests."""


class Forger:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._broker: Broker
        self._kinds: dict[int, Callable[[], Fields]] = {
            24: self._add_partitions_to_txn,
            27: self._write_txn_markers,
            52: self._vote,
            53: self._begin_quorum_epoch,
            54: self._end_quorum_epoch,
            56: self._alter_partition,
            58: self._envelope,
            59: self._fetch_snapshot,
            62: self._broker_registration,
            63: self._broker_heartbeat,
            67: self._allocate_producer_ids,
            70: self._controller_registration,
            73: self._assign_replicas_to_dirs,
            82: self._update_raft_voter,
            83: lambda: self._share_state(state_epoch=self._epoch(0), start_offset=self._offset()),
            84: lambda: self._share_state(leader_epoch=self._epoch(0)),
            85: self._write_share_state,
            86: self._share_state,
            87: lambda: self._share_state(leader_epoch=self._epoch(0)),
        }

    def forge(self, broker: Broker) -> Forgery:
        """Forge a request that would harm the cluster of this broker."""
        self._broker = broker
        key = self._random.choice([1, 1, 27, 64, *self._kinds])
        if key == 1:
            return self._fetch()
        if key == 64:
            return Forgery(64, 0, build_request(64, **self._unregister_broker()), is_for_brokers=False)
        return Forgery(key, apis.APIS[key].versions[-1], build_request(key, **self._kinds[key]()))

    # -- known values ---------------------------------------------------------------------------------

    @property
    def _image(self) -> MetadataImage:
        return self._broker.services.controller.image

    def _cluster_id(self) -> str | None:
        """Return mostly the right id, which is no secret."""
        return self._random.choice([*[self._image.cluster_id] * 5, "other", None])

    def _node_id(self) -> int:
        return self._random.choice([*self._image.brokers, self._foreign_id()])

    def _foreign_id(self) -> int:
        return self._random.choice([HOSTILE_ID, HOSTILE_ID, -1, -_INT32_MAX - 1, _INT32_MAX])

    def _broker_epoch(self, node_id: int) -> int:
        known = self._image.brokers.get(node_id)
        right = -1 if known is None else known.epoch
        return self._random.choice([right, right, right + 1, -1, _INT64_MAX])

    def _epoch(self, right: int) -> int:
        near = [right, right, right + 1, right + 1, right - 1, right + 1000]
        return self._random.choice([*near, -1, 0, -_INT32_MAX - 1, _INT32_MAX - 1, _INT32_MAX])

    def _quorum_epoch(self) -> int:
        return self._epoch(self._broker.services.quorum.driver.node.epoch)

    def _offset(self) -> int:
        end = self._image.offset
        return self._random.choice([0, end, end + 1, end + 1000, -1, _INT64_MAX, -_INT64_MAX - 1])

    def _partition(self) -> PartitionName:
        return self._random.choice([*PARTITIONS[ORDERS], *PARTITIONS[LEDGER], *INTERNAL])

    def _topic_id(self, name: str) -> bytes:
        topic = self._image.topic(name)
        return self._random.randbytes(16) if topic is None else topic.topic_id

    # -- the metadata quorum --------------------------------------------------------------------------

    def _of_quorum(self, *, name: str = "topic_name", **partition: Any) -> Fields:
        topics = [{name: _METADATA, "partitions": [partition]}]
        return {"cluster_id": self._cluster_id(), "topics": topics}

    def _voter(self) -> Fields:
        node_id = self._node_id()
        voters = self._broker.services.quorum.driver.node.voters
        known = {each.key.node_id: each.key.directory_id for each in voters}
        return {"node_id": node_id, "directory_id": known.get(node_id, self._random.randbytes(16))}

    def _vote(self) -> Fields:
        voter = self._voter()
        return self._of_quorum(
            replica_epoch=self._quorum_epoch(),
            replica_id=voter["node_id"],
            replica_directory_id=voter["directory_id"],
            last_offset_epoch=self._quorum_epoch(),
            last_offset=self._offset(),
            pre_vote=self._random.random() < 0.3,
        )

    def _begin_quorum_epoch(self) -> Fields:
        fields = self._of_quorum(leader_id=self._node_id(), leader_epoch=self._quorum_epoch())
        return {**fields, "leader_endpoints": [_ENDPOINT]}

    def _end_quorum_epoch(self) -> Fields:
        return self._of_quorum(leader_id=self._node_id(), leader_epoch=self._quorum_epoch())

    def _fetch_snapshot(self) -> Fields:
        latest = self._broker.services.quorum.driver.node.log.latest_snapshot
        end_offset, epoch = self._offset(), self._quorum_epoch()
        if latest is not None and self._random.random() < 0.7:
            end_offset, epoch = latest.offset, latest.epoch
        fields = self._of_quorum(
            name="name",
            current_leader_epoch=self._quorum_epoch(),
            snapshot_id={"end_offset": end_offset, "epoch": epoch},
            position=self._random.choice([0, 0, -1, _INT64_MAX]),
        )
        return {**fields, "replica_id": self._node_id()}

    def _update_raft_voter(self) -> Fields:
        voter = self._voter()
        return {
            "cluster_id": self._cluster_id(),
            "current_leader_epoch": self._quorum_epoch(),
            "voter_id": voter["node_id"],
            "voter_directory_id": voter["directory_id"],
            "listeners": [_ENDPOINT],
            "kraft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
        }

    def _envelope(self) -> Fields:
        key, fields = self._random.choice(
            [
                (19, {"topics": [{"name": f"{HOSTILE}-topic", "num_partitions": 1}], "timeout_ms": 1000}),
                (20, {"topic_names": [ORDERS], "timeout_ms": 1000}),
            ]
        )
        principals = [
            encode_principal(Principal("admin")),
            encode_principal(Principal("ANONYMOUS")),
            b"",
            None,
        ]
        return {
            "request_data": _frame(key, fields),
            "request_principal": self._random.choice(principals),
            "client_host_address": self._random.choice([bytes([127, 0, 0, 1]), b""]),
        }

    # -- the controller -------------------------------------------------------------------------------

    def _broker_registration(self) -> Fields:
        node_id = self._node_id()
        return {
            "broker_id": node_id,
            "cluster_id": self._cluster_id() or "",
            "incarnation_id": self._random.randbytes(16),
            "listeners": [{**_ENDPOINT, "security_protocol": 0}],
            "features": [
                {"name": "metadata.version", "min_supported_version": 1, "max_supported_version": 30}
            ],
            "rack": None,
            "log_dirs": [self._random.randbytes(16)],
            "previous_broker_epoch": self._broker_epoch(node_id),
        }

    def _unregister_broker(self) -> Fields:
        """Name a running controller, or a node that is not registered."""
        services = self._broker.services
        return {"broker_id": services.node_id if services.quorum.is_active else self._foreign_id()}

    def _broker_heartbeat(self) -> Fields:
        node_id = self._node_id()
        return {
            "broker_id": node_id,
            "broker_epoch": self._broker_epoch(node_id),
            "current_metadata_offset": self._offset(),
            "want_fence": self._random.random() < 0.5,
            "want_shut_down": self._random.random() < 0.5,
        }

    def _allocate_producer_ids(self) -> Fields:
        node_id = self._node_id()
        return {"broker_id": node_id, "broker_epoch": self._broker_epoch(node_id)}

    def _controller_registration(self) -> Fields:
        return {
            "controller_id": self._node_id(),
            "incarnation_id": self._random.randbytes(16),
            "listeners": [{**_ENDPOINT, "security_protocol": 0}],
            "features": [
                {"name": "metadata.version", "min_supported_version": 1, "max_supported_version": 30}
            ],
        }

    def _assign_replicas_to_dirs(self) -> Fields:
        """Report the directory of a leader's replica as failed."""
        name, number = self._partition()
        known = self._image.partition(name, number)
        leader = self._node_id() if known is None else known.leader
        topics = [{"topic_id": self._topic_id(name), "partitions": [{"partition_index": number}]}]
        return {
            "broker_id": leader,
            "broker_epoch": self._broker_epoch(leader),
            "directories": [{"id": self._random.randbytes(16), "topics": topics}],
        }

    def _alter_partition(self) -> Fields:
        name, number = self._partition()
        known = self._image.partition(name, number)
        leader = self._node_id() if known is None else known.leader
        data = {
            "partition_index": number,
            "leader_epoch": self._epoch(0 if known is None else known.leader_epoch),
            "new_isr_with_epochs": [{"broker_id": leader, "broker_epoch": self._broker_epoch(leader)}],
            "partition_epoch": self._epoch(0 if known is None else known.partition_epoch),
        }
        return {
            "broker_id": leader,
            "broker_epoch": self._broker_epoch(leader),
            "topics": [{"topic_id": self._topic_id(name), "partitions": [data]}],
        }

    # -- records and coordinators ---------------------------------------------------------------------

    def _fetch(self) -> Forgery:
        """Fetch as a follower, which would confirm records that it does not have; or fetch the metadata."""
        replica_id = self._random.choice([0, *self._image.brokers, HOSTILE_ID, _INT32_MAX])
        name, number = self._partition()
        partition = {
            "partition": number,
            "current_leader_epoch": self._epoch(0),
            "fetch_offset": self._random.choice([0, 1000, _INT64_MAX]),
            "last_fetched_epoch": self._epoch(0),
            "partition_max_bytes": self._random.choice([0, 1000, _INT32_MAX]),
        }
        newest = apis.APIS[1].versions[-1]
        waiting = {"max_wait_ms": 100, "min_bytes": self._random.choice([0, 1])}
        if self._random.random() < 0.2:
            topics: list[Fields] = [{"topic": name, "partitions": [partition]}]
            return Forgery(1, 12, build_request(1, replica_id=replica_id, topics=topics, **waiting))
        if self._random.random() < 0.5:
            topics = [{"topic_id": self._topic_id(name), "partitions": [partition]}]
            state = {"replica_id": replica_id, "replica_epoch": self._broker_epoch(replica_id)}
            return Forgery(1, newest, build_request(1, replica_state=state, topics=topics, **waiting))
        state = {"replica_id": self._random.choice([replica_id, -1])}
        topics = [{"topic_id": METADATA_TOPIC_ID, "partitions": [{**partition, "partition": 0}]}]
        fields = {**waiting, "cluster_id": self._cluster_id(), "replica_state": state, "topics": topics}
        return Forgery(1, newest, build_request(1, **fields))

    def _producer(self) -> Fields:
        return {
            "producer_id": self._random.choice([*range(8), -1, _INT64_MAX]),
            "producer_epoch": self._random.choice([0, 1, 2, -1, 2**15 - 1]),
        }

    def _write_txn_markers(self) -> Fields:
        """Commit transactions: to abort them is an administrator's right."""
        name, number = self._random.choice([*PARTITIONS[LEDGER], INTERNAL[0]])
        marker = {
            **self._producer(),
            "transaction_result": True,
            "coordinator_epoch": self._epoch(0),
            "topics": [{"name": name, "partition_indexes": [number]}],
        }
        return {"markers": [marker]}

    def _add_partitions_to_txn(self) -> Fields:
        name, number = self._partition()
        transaction = {
            **self._producer(),
            "transactional_id": self._random.choice(["t0", "t1", "t2"]),
            "verify_only": self._random.random() < 0.5,
            "topics": [{"name": name, "partitions": [number]}],
        }
        return {"transactions": [transaction]}

    def _share_state(self, **partition: Any) -> Fields:
        name, number = self._random.choice(PARTITIONS[ORDERS])
        data = {"partition": number, **partition}
        return {
            "group_id": SHARE_GROUP,
            "topics": [{"topic_id": self._topic_id(name), "partitions": [data]}],
        }

    def _write_share_state(self) -> Fields:
        first = self._random.choice([0, 5, _INT64_MAX - 10])
        return self._share_state(
            state_epoch=self._epoch(0),
            leader_epoch=self._epoch(0),
            start_offset=self._offset(),
            state_batches=[
                {"first_offset": first, "last_offset": first + 10, "delivery_state": 2, "delivery_count": 1}
            ],
        )


def _frame(key: int, fields: Fields) -> bytes:
    """Encode a CreateTopics or DeleteTopics request, without its size."""
    version = 5
    out = bytearray()
    encode_request_header(
        out, RequestHeader(api_key=key, api_version=version, correlation_id=1, client_id=HOSTILE)
    )
    apis.codec(key).encode_request_into(out, build_request(key, **fields), version)
    return bytes(out)
