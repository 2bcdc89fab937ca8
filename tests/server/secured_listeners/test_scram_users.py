"""Users of SCRAM, kept by the cluster."""

import pytest

from penstock.client.errors import AuthenticationFailed
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from penstock.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from penstock.protocol.messages.metadata import MetadataRequest
from penstock.security.scram_credentials import ScramMechanism
from tests.server.secured_listeners.secured import Secured


def upsertion(user: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    import hashlib

    name = ScramMechanism(mechanism).algorithm if mechanism in (1, 2) else "sha256"
    salted = hashlib.pbkdf2_hmac(name, f"{user}-secret".encode(), b"salt", iterations)
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted
    )


async def test_a_user_is_added_described_logs_in_and_is_removed(secured: Secured) -> None:
    async with secured.connected("PLAINTEXT") as admin:
        added = await admin.send(AlterUserScramCredentialsRequest(upsertions=[upsertion("carol", 2, 5000)]))
        assert [(each.user, each.error_code) for each in added.results] == [("carol", 0)]
        described = await admin.send(DescribeUserScramCredentialsRequest(users=[UserName(name="carol")]))
        [carol] = described.results
        assert [(each.mechanism, each.iterations) for each in carol.credential_infos] == [(2, 5000)]
        login = ("SCRAM-SHA-512", "carol", "carol-secret")
        async with secured.connected("SASL_PLAINTEXT", login=login) as client:
            assert (await client.send(MetadataRequest())).cluster_id
            deletion = ScramCredentialDeletion(name="carol", mechanism=2)
            removed = await admin.send(AlterUserScramCredentialsRequest(deletions=[deletion]))
            assert removed.results[0].error_code == 0
            with pytest.raises(AuthenticationFailed):
                async with secured.connected("SASL_PLAINTEXT", login=login):
                    pass
            assert (await client.send(MetadataRequest())).cluster_id  # who is in stays in


async def test_users_that_cannot_be_described_get_an_error(secured: Secured) -> None:
    async with secured.connected("PLAINTEXT") as admin:
        await admin.send(AlterUserScramCredentialsRequest(upsertions=[upsertion("dave"), upsertion("erin")]))
        names = [UserName(name=each) for each in ("dave", "nobody", "erin", "erin")]
        answer = await admin.send(DescribeUserScramCredentialsRequest(users=names))
        assert {each.user: each.error_code for each in answer.results} == {
            "dave": 0,
            "nobody": ErrorCode.RESOURCE_NOT_FOUND,
            "erin": ErrorCode.DUPLICATE_RESOURCE,
        }
        everybody = await admin.send(DescribeUserScramCredentialsRequest(users=None))
        assert {"dave", "erin"} <= {each.user for each in everybody.results}
