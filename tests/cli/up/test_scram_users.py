import pytest

from penstock.cli.errors import CommandError
from penstock.cli.up.scram_users import parse_user
from penstock.cluster.controller.scram_credentials import NewUser
from penstock.security.scram_credentials import ScramMechanism


def test_a_user_is_written_as_for_kafka_storage() -> None:
    assert parse_user("SCRAM-SHA-256=[name=admin,password=a-secret]") == NewUser(
        user="admin", mechanism=ScramMechanism.SCRAM_SHA_256, password="a-secret"
    )
    assert parse_user('SCRAM-SHA-512=[name="al ice", iterations=8192, password="a, b]="]') == NewUser(
        user="al ice", mechanism=ScramMechanism.SCRAM_SHA_512, password="a, b]=", iterations=8192
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PLAIN=[name=a,password=hush]",
        "SCRAM-SHA-256=name=a,password=hush",
        "SCRAM-SHA-256=[name=a]",
        "SCRAM-SHA-256=[password=hush]",
        "SCRAM-SHA-256=[name=a,password=hush,iterations=100]",
        "SCRAM-SHA-256=[name=a,password=hush,iterations=x]",
        "SCRAM-SHA-256=[name=a,password=hush,color=red]",
        'SCRAM-SHA-256=[name=a,password="hush]',
    ],
)
def test_an_invalid_user_is_refused_without_repeating_its_password(text: str) -> None:
    with pytest.raises(CommandError) as error:
        parse_user(text)
    assert "hush" not in str(error.value)
    assert "--add-scram" in str(error.value)
