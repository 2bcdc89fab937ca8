"""Client settings of a command: `-X KEY=VALUE`, or a file of them in Kafka's format.

A file that works for Kafka's command-line tools (`--command-config client.properties`) works here: Java's names are
translated for librdkafka.
"""

import os
import re
import time
from collections.abc import Iterable, Mapping

from penstock.cli.errors import UsageError

_BEARER = "sasl.oauthbearer.token"
_BEARER_LIFETIME_S = 3600.0  # for librdkafka only; the broker checks the token itself
_JAAS_OPTION = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_RENAMED = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_JAVA_ONLY = ("ssl.truststore.type", "ssl.truststore.password", "ssl.keystore.type", "ssl.protocol")


def read_settings(given: Iterable[str]) -> dict[str, str]:
    """Read settings and files of settings in their order, under the names they have there; later ones win."""
    found: dict[str, str] = {}
    for setting in given:
        is_file = "=" not in setting or os.path.isfile(setting)
        found |= _read_file(setting) if is_file else parse_pairs([setting], "-X")
    return found


def _read_file(path: str) -> dict[str, str]:
    from penstock.config import java_properties
    from penstock.config.property import ConfigError

    try:
        with open(path, encoding="utf-8") as file:
            return java_properties.parse(file.read())
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"-X {path!r} is neither KEY=VALUE nor a readable file of such lines ({reason})"
        ) from None


def to_librdkafka(settings: Mapping[str, str]) -> dict[str, object]:
    """Translate settings to librdkafka's names."""
    renamed: dict[str, object] = {
        _RENAMED.get(name, name): value for name, value in settings.items() if name not in _JAVA_ONLY
    }
    for store in ("truststore", "keystore"):
        if settings.get(f"ssl.{store}.type", "PEM").upper() == "JKS":
            raise UsageError(f"ssl.{store}.type=JKS can only be read by Java: convert it to PEM")
    location = renamed.get("ssl.keystore.location")
    if location is not None and settings.get("ssl.keystore.type", "PEM").upper() == "PEM":
        del renamed["ssl.keystore.location"]
        renamed |= {"ssl.certificate.location": location, "ssl.key.location": location}
    if renamed.get("ssl.endpoint.identification.algorithm") == "":
        renamed["ssl.endpoint.identification.algorithm"] = "none"
    options = dict(_JAAS_OPTION.findall(str(renamed.pop("sasl.jaas.config", ""))))
    for option, name in (("username", "sasl.username"), ("password", "sasl.password")):
        if option in options:
            renamed.setdefault(name, re.sub(r"\\(.)", r"\1", options[option]))
    if (token := renamed.pop(_BEARER, None)) is not None:
        renamed["oauth_cb"] = lambda _config: (token, time.time() + _BEARER_LIFETIME_S)
    return renamed


def parse_pairs(settings: Iterable[str], option: str) -> dict[str, str]:
    """Parse the `KEY=VALUE` arguments of an option."""
    found: dict[str, str] = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise UsageError(f"{option} {setting!r} is not a setting: write it as KEY=VALUE")
        found[key] = value
    return found
