import pytest

from penstock.console.api.produce import Part, bytes_of
from penstock.console.refusals import Refused


@pytest.mark.parametrize(
    ("form", "data", "meant"),
    [
        ("text", "grün", "grün".encode()),
        ("text", "", b""),
        ("json", ' {"a": 1}', b' {"a": 1}'),
        ("hex", "00 ff", b"\x00\xff"),
        ("base64", "AP8=", b"\x00\xff"),
        ("null", "ignored", None),
    ],
)
def test_input_is_encoded_in_its_format(form: str, data: str, meant: bytes | None) -> None:
    assert bytes_of(Part(form=form, data=data), "value") == meant


@pytest.mark.parametrize(("form", "data"), [("json", "{a}"), ("hex", "0g"), ("base64", "?"), ("xml", "<a/>")])
def test_input_that_does_not_match_its_format_is_refused_by_name(form: str, data: str) -> None:
    with pytest.raises(Refused, match="value"):
        bytes_of(Part(form=form, data=data), "value")
