import pytest

from penstock.protocol.errors import ProtocolError
from penstock.security.principal import ANONYMOUS, Principal, decode_principal, encode_principal


@pytest.mark.parametrize("principal", [ANONYMOUS, Principal("zoë,ou=x"), Principal("n", "Group")])
def test_a_principal_round_trips(principal: Principal) -> None:
    assert decode_principal(encode_principal(principal)) == principal


def test_a_principal_has_kafkas_format() -> None:
    assert encode_principal(Principal("bob")) == b"\x00\x00\x05User\x04bob\x00\x00"


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01\x05User\x04bob\x00\x00", b"\x00\x00\x05Use"])
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_principal(data)
