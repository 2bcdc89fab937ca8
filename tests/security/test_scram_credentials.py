import base64

import pytest

from penstock.security.scram_credentials import (
    ScramMechanism,
    credential_of_password,
    credential_of_salted_password,
    decoy_credential,
)


def test_the_keys_of_a_password_are_those_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    credential = credential_of_password(ScramMechanism.SCRAM_SHA_256, "pencil", salt, 4096)
    assert base64.b64encode(credential.stored_key) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(credential.server_key) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="


def test_a_salted_password_gives_what_the_password_gives() -> None:
    import hashlib

    salted = hashlib.pbkdf2_hmac("sha512", b"secret", b"salt", 5000)
    assert credential_of_salted_password(
        ScramMechanism.SCRAM_SHA_512, salted, b"salt", 5000
    ) == credential_of_password(ScramMechanism.SCRAM_SHA_512, "secret", b"salt", 5000)


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_decoy_is_the_same_each_time_and_another_for_another_user_mechanism_or_secret(
    mechanism: ScramMechanism,
) -> None:
    decoy = decoy_credential(mechanism, "nobody", b"secret")
    other = next(each for each in ScramMechanism if each is not mechanism)
    assert decoy == decoy_credential(mechanism, "nobody", b"secret")
    different = [
        decoy_credential(mechanism, "somebody", b"secret"),
        decoy_credential(mechanism, "nobody", b"terces"),
        decoy_credential(other, "nobody", b"secret"),
    ]
    assert decoy.salt not in [each.salt for each in different]


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_decoy_looks_like_a_credential(mechanism: ScramMechanism) -> None:
    real = credential_of_password(mechanism, "secret", bytes(20))
    decoy = decoy_credential(mechanism, "nobody", b"secret")
    assert len(decoy.salt) == len(real.salt)
    assert (len(decoy.stored_key), len(decoy.server_key)) == (len(real.stored_key), len(real.server_key))
    assert decoy.iterations == real.iterations


def test_a_credential_is_not_shown_with_its_keys() -> None:
    credential = credential_of_password(ScramMechanism.SCRAM_SHA_256, "secret", b"salt")
    assert repr(credential) == "ScramCredential(iterations=4096)"
