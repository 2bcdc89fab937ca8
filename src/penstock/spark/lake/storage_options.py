"""The settings with which obstore, deltalake and pyiceberg reach an object store.

Users write the options of obstore and deltalake (`aws_access_key_id`, `endpoint_url`, `azure_storage_account_key`),
in any case, with or without `aws_`. The rest comes from the environment, as these libraries read it, and for S3 from
the profile (`AWS_PROFILE`, `profile`) in `~/.aws`, which obstore does not read.
"""

import configparser
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.location import Location

RETRIES_MAX = 6  # about six seconds; then the query fails and is restarted with pauses of its own
_RETRY_TIMEOUT_S = 60
_CONNECT_TIMEOUT_S = 5

_CLIENT_OPTIONS = frozenset(
    {"allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "proxy_excludes", "timeout"}
)
_PREFIXES = {"s3": ("aws_",), "abfss": ("azure_storage_", "azure_"), "az": ("azure_storage_", "azure_")}
_SYNONYMS = {
    "endpoint_url": "endpoint",
    "endpoint_url_s3": "endpoint",
    "default_region": "region",
    "access_key": "account_key",
    "sas_token": "sas_key",
}
_FLAGS = frozenset({"allow_http", "allow_invalid_certificates"})
_UNSAFE = {"s3_allow_unsafe_rename": "two writers could then commit the same version of a table"}
_PROFILE_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token", "region", "endpoint_url")

# pyiceberg's name of each option, by scheme
_ICEBERG = {
    "s3": {
        "endpoint": "s3.endpoint",
        "access_key_id": "s3.access-key-id",
        "secret_access_key": "s3.secret-access-key",
        "session_token": "s3.session-token",
        "region": "s3.region",
        "role_arn": "s3.role-arn",
    },
    "gs": {"bearer_token": "gcs.oauth2.token"},
    "abfss": {
        "account_name": "adls.account-name",
        "account_key": "adls.account-key",
        "sas_key": "adls.sas-token",
        "client_id": "adls.client-id",
        "client_secret": "adls.client-secret",
        "tenant_id": "adls.tenant-id",
    },
}


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    config: dict[str, str]  # of the store: credentials, region, endpoint
    client: dict[str, str]  # of its HTTP client

    def for_obstore(self, retries_max: int = RETRIES_MAX) -> dict[str, Any]:
        client: dict[str, Any] = {"connect_timeout": timedelta(seconds=_CONNECT_TIMEOUT_S), **self.client}
        for name in _FLAGS.intersection(client):
            client[name] = client[name].lower() == "true"
        retry = {"max_retries": retries_max, "retry_timeout": timedelta(seconds=_RETRY_TIMEOUT_S)}
        return {"config": self.config, "client_options": client, "retry_config": retry}

    def for_deltalake(self) -> dict[str, str]:
        limits = {"max_retries": str(RETRIES_MAX), "retry_timeout": f"{_RETRY_TIMEOUT_S}s"}
        return {**limits, "connect_timeout": f"{_CONNECT_TIMEOUT_S}s", **self.config, **self.client}

    def for_pyiceberg(self, scheme: str) -> dict[str, str]:
        names = _ICEBERG.get(scheme, {})
        return {names[key]: value for key, value in self.config.items() if key in names}


def settings_for(location: Location, environment: Mapping[str, str] | None = None) -> StoreSettings:
    """Return the settings for the store of a location, in the process that uses it."""
    environment = os.environ if environment is None else environment
    given = {_canonical(name, location.scheme): value for name, value in location.options.items()}
    for name, reason in _UNSAFE.items():
        if name in given or f"AWS_{name}".upper() in environment:
            raise TableError(f"{location}: the option aws_{name} is refused: {reason}")
    if location.scheme == "s3":
        given = _with_s3_defaults(given, environment)
    return StoreSettings(
        config={name: value for name, value in given.items() if name not in _CLIENT_OPTIONS},
        client={name: value for name, value in given.items() if name in _CLIENT_OPTIONS},
    )


def options_from_iceberg(properties: Mapping[str, str]) -> dict[str, str]:
    """Translate the properties of a table's FileIO, which a catalog may have filled with credentials of its own."""
    known = {theirs: ours for names in _ICEBERG.values() for ours, theirs in names.items()}
    return {known[name]: str(value) for name, value in properties.items() if name in known and value}


def _canonical(name: str, scheme: str) -> str:
    name = name.strip().lower()
    for prefix in _PREFIXES.get(scheme, ()):
        name = name.removeprefix(prefix)
    return _SYNONYMS.get(name, name)


def _with_s3_defaults(given: dict[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    from_environment = {
        "endpoint": environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL"),
        "region": environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION"),
    }
    profile = given.pop("profile", None)
    has_keys = "access_key_id" in given or (profile is None and "AWS_ACCESS_KEY_ID" in environment)
    named = profile or environment.get("AWS_PROFILE")
    found = {
        **({} if has_keys else _profile(named, environment)),
        **{name: value for name, value in from_environment.items() if value},
        **given,
    }
    if found.get("endpoint", "").startswith("http://"):
        found.setdefault("allow_http", "true")
    return found


def _profile(name: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Read a profile with keys of its own; the default one may be missing."""
    parser = configparser.ConfigParser(interpolation=None)
    credentials = environment.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.expanduser("~/.aws/credentials")
    config = environment.get("AWS_CONFIG_FILE") or os.path.expanduser("~/.aws/config")
    try:
        parser.read([config, credentials])
    except configparser.Error as error:
        raise TableError(f"cannot read the AWS profiles in {config} and {credentials}: {error}") from error
    wanted = name or "default"
    found: dict[str, str] = {}
    for section in (f"profile {wanted}", wanted):
        if parser.has_section(section):
            found.update(parser.items(section))
    if name is not None and not found:
        raise TableError(f"there is no AWS profile `{name}` in {credentials} or {config}")
    if name is not None and "aws_access_key_id" not in found:
        raise TableError(
            f"the AWS profile `{name}` has no access key of its own: export its credentials as environment "
            "variables (`aws configure export-credentials --format env`)"
        )
    return {_canonical(key, "s3"): found[key] for key in _PROFILE_KEYS if key in found}
