"""Random histories of a group: clients join, sync, crash, leave and restart; the coordinator crashes and is reloaded.

Checked throughout: within a generation no partition has two owners, a member gets what that generation's leader gave
it, and no request is answered twice. At the end, without further crashes: every live client is in one stable
generation, every partition has an owner, and no departed client is still a member. HISTORIES in the environment sets
their number.
"""

import enum
import itertools
import os
from collections.abc import Iterator

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from penstock.groups.classic import rebalance
from penstock.groups.classic.group import GroupSettings, restore_group
from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from tests.groups.classic.driver import DELAY_MS, Driver

PARTITIONS = range(6)
CLIENTS_MAX = 6
HEARTBEAT_MS = 1000


Proposal = tuple[int, str, bytes]  # generation, client and its share, as a leader proposed it


class ModelClient:
    """A consumer as clients are written: it does what the broker's answers ask for."""

    def __init__(
        self, driver: Driver, number: int, proposals: set[Proposal], *, is_static: bool, knows_ids: bool
    ) -> None:
        self.driver = driver
        self.proposals = proposals
        self.instance_id = f"instance-{number}" if is_static else None
        self.knows_ids = knows_ids
        self.subscription = b"0"
        self.ids = (f"c{number}-{n}" for n in itertools.count())
        self.name = f"c{number}"
        self.restart()

    def restart(self) -> None:
        self.member_id = ""
        self.forget()

    def forget(self) -> None:
        """Join again, as after a rebalance."""
        self.generation = -1
        self.leader_members: list[str] | None = None
        self.join_ticket: int | None = None
        self.sync_ticket: int | None = None
        self.assignment: tuple[int, ...] | None = None

    @property
    def is_settled(self) -> bool:
        return self.assignment is not None

    def step(self) -> None:
        if self.join_ticket is not None:
            self._look_for_join()
        elif self.sync_ticket is not None:
            self._look_for_sync()
        elif self.is_settled:
            self._obey(self.driver.heartbeat(self.member_id, self.generation, self.instance_id))
        elif self.generation >= 0:
            self._sync()
        else:
            self._join()

    def _join(self) -> None:
        self.join_ticket = self.driver.join(
            self.member_id,
            new_id=next(self.ids),
            instance_id=self.instance_id,
            protocols={"range": self.subscription},
            requires_member_id=self.knows_ids,
        )

    def _look_for_join(self) -> None:
        if self.join_ticket is None or self.driver.answer(self.join_ticket) is None:
            return
        answer = self.driver.joined(self.join_ticket)
        self.join_ticket = None
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error_code:
            self._obey(ErrorCode(answer.error_code))
        else:
            self.member_id = answer.member_id
            self.generation = answer.generation_id
            leads = answer.leader == answer.member_id and not answer.skip_assignment
            self.leader_members = [m.member_id for m in answer.members] if leads else None

    def _sync(self) -> None:
        shares: dict[str, bytes] = {}
        if self.leader_members is not None:
            count = len(self.leader_members)
            shares = {m: bytes(PARTITIONS[i::count]) for i, m in enumerate(self.leader_members)}
            for member_id, share in shares.items():
                self.proposals.add((self.generation, member_id.partition("-")[0], share))
        self.sync_ticket = self.driver.sync(
            self.member_id, shares, generation=self.generation, instance_id=self.instance_id
        )

    def _look_for_sync(self) -> None:
        if self.sync_ticket is None or self.driver.answer(self.sync_ticket) is None:
            return
        answer = self.driver.synced(self.sync_ticket)
        self.sync_ticket = None
        if answer.error_code:
            self._obey(ErrorCode(answer.error_code))
        else:
            self.assignment = tuple(answer.assignment)
            proposed = (self.generation, self.name, answer.assignment)
            assert proposed in self.proposals, f"{proposed} comes from nobody"

    def _obey(self, code: ErrorCode) -> None:
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.restart()
        elif code:
            self.forget()


class Fate(enum.Enum):
    CRASHES = enum.auto()
    RESTARTS = enum.auto()
    LEAVES = enum.auto()
    SUBSCRIBES_ANEW = enum.auto()


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(stores_at_once=False)
        self.clients: list[ModelClient] = []
        self.numbers: Iterator[int] = itertools.count()
        self.owners: dict[tuple[int, int], str] = {}
        self.proposals: set[Proposal] = set()

    # -- what happens ---------------------------------------------------------------------------------

    @precondition(lambda self: len(self.clients) < CLIENTS_MAX)
    @rule(is_static=st.booleans(), knows_ids=st.booleans())
    def a_client_starts(self, is_static: bool, knows_ids: bool) -> None:
        number = next(self.numbers)
        self.clients.append(
            ModelClient(self.driver, number, self.proposals, is_static=is_static, knows_ids=knows_ids)
        )

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), turns=st.integers(1, 4))
    def a_client_does_what_is_next(self, data: st.DataObject, turns: int) -> None:
        client = data.draw(st.sampled_from(self.clients))
        for _ in range(turns):
            client.step()
            self.note_ownership(client)

    @rule(turns=st.integers(2, 8), stores=st.booleans())
    def all_do_what_is_next(self, turns: int, stores: bool) -> None:
        for _ in range(turns):
            for client in self.clients:
                client.step()
                self.note_ownership(client)
            if stores:
                self.all_stores_succeed()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), fate=st.sampled_from(Fate))
    def fate_meets_a_client(self, data: st.DataObject, fate: Fate) -> None:
        client = data.draw(st.sampled_from(self.clients))
        if fate is Fate.RESTARTS:
            client.restart()
        elif fate is Fate.SUBSCRIBES_ANEW:
            client.subscription += b"1"
            if client.is_settled:
                client.forget()
        else:
            if fate is Fate.LEAVES and client.member_id:
                self.driver.leave(client.member_id)
            self.clients.remove(client)

    @rule(delta_ms=st.sampled_from([1, 500, DELAY_MS, DELAY_MS, 9_000, 15_000]))
    def time_passes(self, delta_ms: int) -> None:
        self.driver.advance(delta_ms)

    @precondition(lambda self: self.driver.stores)
    @rule()
    def a_store_succeeds(self) -> None:
        self.driver.store_next()

    def all_stores_succeed(self) -> None:
        while self.driver.stores:
            self.driver.store_next()

    @rule(was_written=st.booleans())
    def the_coordinator_crashes(self, was_written: bool) -> None:
        """Another takes over from the log, which may have the last record although no client was notified."""
        if was_written and self.driver.stores:
            self.driver.log.append(self.driver.stores[0].value)
        self.reload()

    def reload(self) -> None:
        self.driver.stores.clear()
        self.driver.end()
        if self.driver.log:
            record = self.driver.log[-1]
            self.driver.group = restore_group("g", record, GroupSettings(initial_rebalance_delay_ms=DELAY_MS))
            assert {m.member_id for m in record.members} == set(self.driver.group.members)
            rebalance.resume(self.driver.group, self.driver.now)
        else:
            self.driver.group = Driver().group

    # -- what must hold -------------------------------------------------------------------------------

    def note_ownership(self, client: ModelClient) -> None:
        for partition in client.assignment or ():
            name = client.name if client.instance_id else client.member_id
            owner = self.owners.setdefault((client.generation, partition), name)
            assert owner == name, f"{partition} belongs to {owner} and {name} in {client.generation}"

    def teardown(self) -> None:
        """Without further crashes the group must become stable with all live members, and only with them."""
        for _ in range(600):
            self.all_do_what_is_next(1, stores=True)
            if self.is_idle():
                break
            self.driver.advance(HEARTBEAT_MS)
        assert self.is_idle(), self.driver.group.state
        owned = sorted(p for client in self.clients for p in client.assignment or ())
        assert owned == (list(PARTITIONS) if self.clients else [])

    def is_idle(self) -> bool:
        group = self.driver.group
        wanted = State.STABLE if self.clients else State.EMPTY
        return (
            group.state is wanted
            and set(group.members) == {client.member_id for client in self.clients}
            and all(c.is_settled and c.generation == group.generation for c in self.clients)
            and not self.driver.stores
        )


TestGroup = GroupMachine.TestCase
TestGroup.settings = settings(
    max_examples=int(os.environ.get("HISTORIES", "100")),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
