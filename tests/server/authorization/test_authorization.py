"""Every API with every principal and every resource: who is served, and with which error others are refused."""

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from penstock.protocol.apis import APIS
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest
from penstock.protocol.messages.offset_commit import OffsetCommitRequest
from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.acl_authorizer import AclAuthorizer
from penstock.security.principal import Principal
from penstock.security.resources import PatternType
from penstock.server.handlers import HANDLERS
from tests.security.acl_support import acl
from tests.server.authorization.document import PAGE, TABLE, drawn, page_with
from tests.server.authorization.row import (
    CLUSTER_REFUSED,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    Need,
    Place,
    Row,
    refusals,
)
from tests.server.guarded import ADMIN, Guarded, guarded_broker
from tests.server.live import held
from tests.server.raw import frame_of

GUARDED_ROWS = [each for each in TABLE if each.needs]
REFUSED_ROWS = [each for each in TABLE if each.needs or each.is_for_brokers]
SETTINGS = {"transaction.two.phase.commit.enable": "true"}

every_row = pytest.mark.parametrize("row", TABLE, ids=str)
every_refused_row = pytest.mark.parametrize("row", REFUSED_ROWS, ids=str)
every_guarded_row = pytest.mark.parametrize("row", GUARDED_ROWS, ids=str)
_numbers = itertools.count()


@pytest.fixture(scope="module")
def place(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("guarded")
    with held(runner, guarded_broker(directory, SETTINGS)) as guarded:
        yield runner.run(furnished(guarded))


async def furnished(guarded: Guarded) -> Place:
    """A topic, a group that committed an offset of it, and a transactional id."""
    topic = await guarded.create_topic(TOPIC)
    for key_type, key in ((0, GROUP), (1, TRANSACTIONAL_ID)):
        await guarded.admin.send(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]))
    await guarded.admin.send(
        InitProducerIdRequest(
            transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=1000, producer_id=-1, producer_epoch=-1
        )
    )
    await guarded.admin.send(
        OffsetCommitRequest(group_id=GROUP, topics=[guarded.offset_of(TOPIC, 1)]), version=9
    )
    return Place(guarded, topic)


def entry(
    who: Principal, need: Need, permission: PermissionType = PermissionType.ALLOW
) -> AccessControlEntry:
    return acl(str(who), need.operation, need.name, resource_type=need.resource_type, permission=permission)


def prefixed(who: Principal, need: Need) -> AccessControlEntry:
    return acl(
        str(who),
        need.operation,
        need.name[:7],
        resource_type=need.resource_type,
        pattern_type=PatternType.PREFIXED,
    )


class Asked:
    """The error codes for a new principal that has these ACLs."""

    def __init__(self, place: Place, row: Row) -> None:
        self._place = place
        self._row = row
        self.who = Principal(f"somebody-{next(_numbers)}")

    async def answer(self, entries: Iterable[AccessControlEntry] = ()) -> Any:
        authorizer = self._place.guarded.services.authorizer
        assert isinstance(authorizer, AclAuthorizer)
        if self._row.before is not None:
            await self._row.before(self._place)
        acls = {number.to_bytes(16, "big"): each for number, each in enumerate(entries)}
        authorizer.follow(acls, acls)
        try:
            return await self._place.guarded.caller(self.who).send(
                self._row.request(self._place), self._row.version
            )
        finally:
            authorizer.follow({}, acls)


def assert_served(row: Row, answer: Any) -> None:
    assert refusals(answer) == set()
    if row.shows is not None:
        assert row.shows(answer), answer


def assert_refused(row: Row, answer: Any, missing: Need) -> None:
    if missing.refusal is not None:
        assert refusals(answer) == {missing.refusal}
    else:
        assert row.shows is not None
        assert not row.shows(answer), answer


def assert_as_for_nobody(row: Row, answer: Any) -> None:
    if row.is_for_brokers:
        assert refusals(answer) == {CLUSTER_REFUSED}
    elif row.needs:
        assert_refused(row, answer, row.needs[0])
    else:
        assert_served(row, answer)


def test_every_api_has_a_row() -> None:
    """A new API comes with the permissions that it needs, or stands here without any."""
    assert set(HANDLERS) - {each.key for each in TABLE} == set()


def test_the_documentation_has_the_same_table() -> None:
    page = PAGE.read_text()
    assert page == page_with(drawn(TABLE), page), "run python -m tests.server.authorization.document"


@every_row
async def test_without_permissions_only_apis_that_need_none_are_served(place: Place, row: Row) -> None:
    answer = await Asked(place, row).answer()
    assert_as_for_nobody(row, answer)


def can_be_sent(request: Any, version: int) -> bool:
    try:
        frame_of(request, version)
    except ProtocolError:  # it has a field that this version does not
        return False
    return True


@every_refused_row
async def test_a_refusal_can_be_encoded_in_every_version(place: Place, row: Row) -> None:
    request = row.request(place)
    versions = [each for each in APIS[row.key].versions if can_be_sent(request, each)]
    assert versions
    for version in versions:
        assert await place.guarded.newcomer().send(request, version) is not None


@every_guarded_row
async def test_a_principal_with_exactly_the_permissions_is_served(place: Place, row: Row) -> None:
    asked = Asked(place, row)
    assert_served(row, await asked.answer(entry(asked.who, need) for need in row.needs))


@every_guarded_row
async def test_permissions_on_a_name_prefix_are_enough(place: Place, row: Row) -> None:
    asked = Asked(place, row)
    assert_served(row, await asked.answer(prefixed(asked.who, need) for need in row.needs))


@every_guarded_row
async def test_every_single_permission_is_required(place: Place, row: Row) -> None:
    for missing in row.needs:
        asked = Asked(place, row)
        others = [entry(asked.who, need) for need in row.needs if need != missing]
        assert_refused(row, await asked.answer(others), missing)


@every_guarded_row
async def test_a_denial_of_any_permission_overrides_all_that_are_granted(place: Place, row: Row) -> None:
    for denied in row.needs:
        asked = Asked(place, row)
        allowed = [entry(asked.who, need) for need in row.needs]
        denial = entry(asked.who, denied, PermissionType.DENY)
        assert_refused(row, await asked.answer([*allowed, denial]), denied)


@every_row
async def test_a_super_user_is_served_despite_denials_but_is_not_a_broker(place: Place, row: Row) -> None:
    asked = Asked(place, row)
    asked.who = ADMIN
    answer = await asked.answer(entry(ADMIN, need, PermissionType.DENY) for need in row.needs)
    if row.is_for_brokers:
        assert refusals(answer) == {CLUSTER_REFUSED}
    else:
        assert_served(row, answer)
