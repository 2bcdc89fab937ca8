import base64
import re

import pytest

from penstock.security.scram_credentials import (
    ScramForm,
    ScramMechanism,
    credential_of_password,
    credential_of_salted_password,
    decoy_credential,
    form_of,
)


def test_the_keys_of_a_password_are_those_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    credential = credential_of_password(ScramMechanism.SCRAM_SHA_256, "pencil", salt, 4096)
    assert base64.b64encode(credential.stored_key) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(credential.server_key) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="


def test_a_salted_password_gives_the_same_keys_as_the_password() -> None:
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
    real = credential_of_password(mechanism, "secret", bytes(37), 8192)
    decoy = decoy_credential(mechanism, "nobody", b"secret", [form_of(real)])
    assert len(decoy.salt) == len(real.salt)
    assert (len(decoy.stored_key), len(decoy.server_key)) == (len(real.stored_key), len(real.server_key))
    assert decoy.iterations == real.iterations


def test_the_representation_of_a_credential_hides_its_keys() -> None:
    credential = credential_of_password(ScramMechanism.SCRAM_SHA_256, "secret", b"salt")
    assert repr(credential) == "ScramCredential(iterations=4096)"


def test_a_decoy_among_users_of_kafkas_tools_has_a_salt_like_theirs() -> None:
    """130 bits in base 36: 25 characters, or 26 of which the first is 1."""
    forms = [
        form_of(credential_of_password(ScramMechanism.SCRAM_SHA_256, "x", b"1a2b3c4d5e6f7g8h9i0j1k2l3m"))
    ]
    salts = [
        decoy_credential(ScramMechanism.SCRAM_SHA_256, f"user-{number}", b"secret", forms).salt
        for number in range(200)
    ]
    assert all(re.fullmatch(rb"1?[0-9a-z]{20,25}", salt) for salt in salts)
    assert {25, 26} <= {len(salt) for salt in salts}


def test_decoys_have_all_forms_of_real_users_and_keep_them_when_a_user_is_added() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_512
    forms = [ScramForm(salt_bytes=64), ScramForm(salt_bytes=20, iterations=8192)]
    before = [decoy_credential(mechanism, f"user-{number}", b"secret", forms) for number in range(60)]
    assert {form_of(each) for each in before} == set(forms)
    another = ScramForm(salt_bytes=16)
    after = [
        decoy_credential(mechanism, f"user-{number}", b"secret", [another, *reversed(forms)])
        for number in range(60)
    ]
    assert all(new == old or form_of(new) == another for new, old in zip(after, before, strict=True))
