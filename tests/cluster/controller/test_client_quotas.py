import pytest

from penstock.cluster.controller.client_quotas import EntityParts, QuotaChange, decide_alter_quotas
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ClientQuotaRecord, EntityData

ALICE: EntityParts = (("user", "alice"),)


def change(entity: EntityParts, **values: float | None) -> QuotaChange:
    return QuotaChange(entity=entity, values=list(values.items()))


def test_a_new_value_is_recorded_and_an_equal_one_is_not() -> None:
    image = MetadataImage("c")
    image.quotas[("user", "alice"),] = {"request_percentage": 5.0}
    decision = decide_alter_quotas(image, [change(ALICE, request_percentage=5.0, producer_byte_rate=9.0)])
    entity = [EntityData(entity_type="user", entity_name="alice")]
    assert decision.records == [ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=9.0)]


def test_removing_a_quota_that_is_not_set_changes_nothing() -> None:
    decision = decide_alter_quotas(MetadataImage("c"), [change(ALICE, producer_byte_rate=None)])
    assert decision.records == []
    assert decision.result[0].error == ErrorCode.NONE


@pytest.mark.parametrize(
    ("entity", "values", "words"),
    [
        ((), {"producer_byte_rate": 1}, "empty"),
        ((("group", "g"),), {"producer_byte_rate": 1}, "Unhandled client quota entity type: group"),
        ((("user", "a"), ("user", "b")), {"producer_byte_rate": 1}, "duplicate entity entry user"),
        ((("user", ""),), {"producer_byte_rate": 1}, "Empty user"),
        ((("ip", "127.0.0.1"), ("user", "a")), {"connection_creation_rate": 1}, "should not be combined"),
        ((("ip", "nowhere"),), {"connection_creation_rate": 1}, "not a valid IP"),
        ((("ip", "127.0.0.1"),), {"producer_byte_rate": 1}, "Invalid configuration key producer_byte_rate"),
        (ALICE, {"connection_creation_rate": 1}, "Invalid configuration key connection_creation_rate"),
        (ALICE, {"producer_byte_rate": 0}, "must be greater than 0"),
        (ALICE, {"producer_byte_rate": float("nan")}, "must be greater than 0"),
        (ALICE, {"producer_byte_rate": 1.5}, "fractional"),
        (ALICE, {"producer_byte_rate": 1e19}, "too large for a LONG"),
        ((("ip", None),), {"connection_creation_rate": 2**31}, "too large for an INT"),
    ],
)
def test_a_bad_change_is_refused_completely_with_a_reason(
    entity: EntityParts, values: dict[str, float], words: str
) -> None:
    decision = decide_alter_quotas(
        MetadataImage("c"), [change(entity, **values), change(ALICE, request_percentage=1)]
    )
    assert decision.result[0].error == ErrorCode.INVALID_REQUEST
    assert words in (decision.result[0].message or "")
    assert len(decision.records) == (0 if entity == ALICE else 1), "another entity's change is applied"
