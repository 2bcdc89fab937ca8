"""The client settings that a command is given: `-X KEY=VALUE`, or a file of them in Kafka's own form.

A file that works for Kafka's command-line tools (`--command-config client.properties`) works here: what Java names
otherwise is translated for librdkafka.
"""

import os
import re
import time
from collections.abc import Iterable, Mapping

from penstock.cli.errors import EXIT_USAGE, CommandError

_BEARER = "sasl.oauthbearer.token"
_BEARER_HOLDS_S = 3600.0  # as far as librdkafka is concerned; the broker looks at the token itself
_JAAS_OPTION = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_RENAMED = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_WITHOUT_MEANING = ("ssl.truststore.type", "ssl.truststore.password", "ssl.keystore.type", "ssl.protocol")


def client_settings(given: Iterable[str]) -> dict[str, str]:
    """What is given, as it is named there; a file counts at its place, and later ones win."""
    found: dict[str, str] = {}
    for setting in given:
        key, separator, value = setting.partition("=")
        if not separator or os.path.isfile(setting):
            found |= _read(setting)
        elif not key:
            raise CommandError(f"-X {setting!r} is not a setting: write it as KEY=VALUE", EXIT_USAGE)
        else:
            found[key] = value
    return found


def _read(path: str) -> dict[str, str]:
    from penstock.config import java_properties
    from penstock.config.property import ConfigError

    try:
        with open(path, encoding="utf-8") as file:
            return java_properties.parse(file.read())
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandError(
            f"-X {path!r} is neither KEY=VALUE nor a file of such lines that can be read ({reason})",
            EXIT_USAGE,
        ) from None


def for_librdkafka(settings: Mapping[str, str]) -> dict[str, object]:
    """The same settings by the names that librdkafka has for them."""
    renamed: dict[str, object] = {
        _RENAMED.get(name, name): value for name, value in settings.items() if name not in _WITHOUT_MEANING
    }
    for store in ("truststore", "keystore"):
        if settings.get(f"ssl.{store}.type", "PEM").upper() == "JKS":
            raise CommandError(
                f"ssl.{store}.type=JKS can only be read by Java: convert it to PEM", EXIT_USAGE
            )
    location = renamed.get("ssl.keystore.location")
    if location is not None and settings.get("ssl.keystore.type", "PEM").upper() == "PEM":
        del renamed["ssl.keystore.location"]
        renamed |= {"ssl.certificate.location": location, "ssl.key.location": location}
    if renamed.get("ssl.endpoint.identification.algorithm") == "":
        renamed["ssl.endpoint.identification.algorithm"] = "none"
    _translate_jaas(renamed)
    if (token := renamed.pop(_BEARER, None)) is not None:
        renamed["oauth_cb"] = lambda _config: (token, time.time() + _BEARER_HOLDS_S)
    return renamed


def _translate_jaas(settings: dict[str, object]) -> None:
    options = dict(_JAAS_OPTION.findall(str(settings.pop("sasl.jaas.config", ""))))
    for option, name in (("username", "sasl.username"), ("password", "sasl.password")):
        if option in options:
            settings.setdefault(name, re.sub(r"\\(.)", r"\1", options[option]))
