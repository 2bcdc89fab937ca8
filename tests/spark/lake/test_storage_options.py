import re
from pathlib import Path

import pytest

from penstock.spark.lake.errors import TableError, storage_reason
from penstock.spark.lake.location import location_of
from penstock.spark.lake.storage_options import options_from_iceberg, settings_for

PROFILES = """
[default]
aws_access_key_id = of-default
aws_secret_access_key = hush

[shop]
aws_access_key_id = of-shop
aws_secret_access_key = hush%x
region = eu-central-1

[sso]
sso_session = corporate
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "credentials").write_text(PROFILES)
    return {
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
    }


def config(environment: dict[str, str], **options: str) -> dict[str, str]:
    return settings_for(location_of("s3://lake/t", options), environment).config


def test_the_spellings_of_a_store_s_options_are_one() -> None:
    for name in ("aws_endpoint_url", "AWS_ENDPOINT_URL", "endpoint", "endpoint_url"):
        assert config({}, **{name: "https://s3"}) == {"endpoint": "https://s3"}
    azure = location_of("abfss://c@a.dfs.core.windows.net/t", {"AZURE_STORAGE_ACCOUNT_KEY": "k"})
    assert settings_for(azure, {}).config == {"account_key": "k"}


def test_a_profile_is_read_unless_there_are_keys(environment: dict[str, str]) -> None:
    assert config(environment)["access_key_id"] == "of-default"
    shop = config({**environment, "AWS_PROFILE": "shop"})
    assert (shop["access_key_id"], shop["secret_access_key"], shop["region"]) == (
        "of-shop",
        "hush%x",
        "eu-central-1",
    )
    assert config(environment, aws_profile="shop") == shop
    assert config({**environment, "AWS_REGION": "us-west-2"}, aws_profile="shop")["region"] == "us-west-2"
    assert config({**environment, "AWS_ACCESS_KEY_ID": "x"}) == {}  # the libraries read the environment
    assert config(environment, aws_access_key_id="mine") == {"access_key_id": "mine"}


def test_a_profile_that_is_missing_or_has_no_keys_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(TableError, match="there is no AWS profile `shpo`"):
        config(environment, aws_profile="shpo")
    with pytest.raises(TableError, match="`sso` has no access key of its own: export its credentials"):
        config(environment, aws_profile="sso")


def test_unsafe_commits_are_refused() -> None:
    with pytest.raises(TableError, match="two writers could then commit the same version"):
        config({}, AWS_S3_ALLOW_UNSAFE_RENAME="true")
    with pytest.raises(TableError, match="aws_s3_allow_unsafe_rename is refused"):
        config({"AWS_S3_ALLOW_UNSAFE_RENAME": "true"})


def test_each_library_gets_its_own_names() -> None:
    where = location_of(
        "s3://lake/t", {"aws_endpoint_url": "http://s3:9000", "aws_region": "x", "timeout": "9s"}
    )
    settings = settings_for(where, {})
    assert settings.for_obstore()["client_options"]["allow_http"] is True
    assert settings.for_deltalake()["allow_http"] == "true"
    assert settings.for_deltalake()["timeout"] == "9s"
    assert settings.for_pyiceberg("s3") == {"s3.endpoint": "http://s3:9000", "s3.region": "x"}
    assert options_from_iceberg({"s3.endpoint": "http://s3:9000", "other": "y"}) == {
        "endpoint": "http://s3:9000"
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<Error><Code>PermanentRedirect</Code>", "in another region: set the option aws_region"),
        ("AWS Error ACCESS_DENIED during PutObject", r"permission was denied.*\(ACCESS_DENIED\)"),
        (
            "Error performing PUT http://169.254.169.254/latest/api/token: 403 Forbidden",
            "no credentials were found",
        ),
        ("400 Bad Request: <Code>ExpiredToken</Code>", "the credentials were refused.*ExpiredToken"),
        ("DNS: dns error: failed to lookup", "the endpoint cannot be reached"),
    ],
)
def test_errors_of_stores_say_what_to_do(text: str, reason: str) -> None:
    assert re.search(reason, storage_reason(text) or "")
    assert storage_reason("version conflict") is None
