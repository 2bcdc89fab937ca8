"""The table of APIs: complete, consistent with the modules, and quick to load."""

import subprocess
import sys

import pytest

from penstock.protocol.apis import APIS, codec, request_header_version, response_header_version
from penstock.protocol.errors import ProtocolError

LOADED_MESSAGES = """
import sys
import penstock.protocol.apis
import penstock.protocol.headers
print([name for name in sys.modules if name.startswith("penstock.protocol.messages.")])
"""


@pytest.mark.parametrize("key", APIS)
def test_an_api_has_the_versions_that_its_module_states(key: int) -> None:
    spec, module = APIS[key], codec(key)
    assert (key, key, spec.versions) == (spec.key, module.API_KEY, module.VERSIONS)
    assert spec.flexible_from == module.FLEXIBLE_FROM
    assert codec(key) is module


def test_the_ranges_are_those_of_kafka() -> None:
    names = {spec.name: spec for spec in APIS.values()}
    assert (names["Produce"].key, names["Produce"].versions, names["Produce"].flexible_from) == (
        0,
        range(3, 14),
        9,
    )
    assert (names["Fetch"].key, names["Fetch"].versions, names["Fetch"].flexible_from) == (
        1,
        range(4, 19),
        12,
    )
    assert names["JoinGroup"].versions.start == 0
    assert names["ApiVersions"].key == 18
    assert {"Vote", "BrokerRegistration", "FetchSnapshot", "AlterPartition"} <= names.keys()


def test_no_message_is_loaded_before_it_is_asked_for() -> None:
    found = subprocess.run(
        [sys.executable, "-c", LOADED_MESSAGES], capture_output=True, text=True, check=True
    )
    assert (
        found.stdout.strip()
        == "['penstock.protocol.messages.error_codes', 'penstock.protocol.messages.api_table']"
    )


@pytest.mark.parametrize("key", APIS)
def test_a_flexible_message_has_a_header_that_ends_with_tagged_fields(key: int) -> None:
    for version in APIS[key].versions:
        is_flexible = version >= APIS[key].flexible_from
        assert request_header_version(key, version) == (2 if is_flexible else 1)
        if key != 18:
            assert response_header_version(key, version) == (1 if is_flexible else 0)


def test_an_api_versions_response_always_has_header_version_0() -> None:
    assert [response_header_version(18, version) for version in (0, 2, 3, 4, 99)] == [0] * 5


def test_an_unknown_key_is_refused() -> None:
    for ask in (
        codec,
        lambda key: request_header_version(key, 0),
        lambda key: response_header_version(key, 0),
    ):
        with pytest.raises(ProtocolError, match="no API with key 4711"):
            ask(4711)
