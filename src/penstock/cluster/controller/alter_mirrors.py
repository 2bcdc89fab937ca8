"""Decides what administrators change about mirrors: create, pause, resume, promote, delete.

The requests are IncrementalAlterConfigs of a resource of type `MIRROR`. A mirror is created by its first settings. Its
state changes by the setting `state`:

    from                             to          by
    (none)                           checking    create
    checking                         running     the controller, once the source is checked
    running, checking, promoting     paused      pause
    paused, promoting                running     resume (checking, if the source is not known yet)
    running, paused                  promoting   promote
    all but promoted                 forcing     promote --force
    promoting, forcing               promoted    the controller, once all partitions are ready
    any without read-only topics     (none)      delete
"""

from collections.abc import Callable, Mapping
from typing import Final

from penstock.client import mirrors
from penstock.client.errors import SettingsError
from penstock.client.settings import ClientSettings
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MIRROR, MIRRORED_ACLS, Mirror, MirrorState
from penstock.cluster.metadata.topic_names import invalid_name_reason
from penstock.config import java_properties
from penstock.config.patterns import InvalidPattern, Pattern
from penstock.config.property import ConfigError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord

DELETED: Final = "deleted"
"""The value of `state` by which a mirror is deleted."""

_S = MirrorState
_FROM: Final[Mapping[MirrorState, frozenset[MirrorState]]] = {
    _S.RUNNING: frozenset({_S.PAUSED, _S.PROMOTING, _S.RUNNING, _S.CHECKING}),
    _S.PAUSED: frozenset({_S.RUNNING, _S.CHECKING, _S.PROMOTING, _S.PAUSED}),
    _S.PROMOTING: frozenset({_S.RUNNING, _S.PAUSED, _S.PROMOTING}),
    _S.FORCING: frozenset({_S.CHECKING, _S.RUNNING, _S.PAUSED, _S.PROMOTING, _S.FORCING}),
}
_CHANGEABLE: Final = frozenset(
    {mirrors.SERVERS, mirrors.TOPICS, mirrors.STATE, mirrors.CLIENT, mirrors.THROTTLE, mirrors.FACTOR}
)
_ONLY_AT_FIRST: Final = frozenset({mirrors.MAY_ADOPT})


def client_settings(mirror: Mirror) -> ClientSettings:
    """How to connect to the source. Raises `SettingsError` or `ConfigError`."""
    defaults = {
        "client.id": f"penstock-mirror-{mirror.name}",
        "default.api.timeout.ms": "10000",  # the follower retries anyway, and reports each failure
    }
    given = java_properties.parse(mirror.client)
    return ClientSettings.from_properties({**defaults, **given, "bootstrap.servers": mirror.servers})


def topic_filter(mirror: Mirror) -> Callable[[str], bool]:
    """Whether the mirror's pattern matches a topic's whole name. Raises `InvalidPattern`."""
    patterns = [Pattern(each.strip()) for each in mirror.topics.split(",") if each.strip()]
    return lambda name: any(each.matches(name) for each in patterns)


def mirror_records(image: MetadataImage, name: str, given: Mapping[str, str | None]) -> list[ConfigRecord]:
    """The records of a change of these settings (None: removed). Raises `Refusal`."""
    if (reason := invalid_name_reason(name)) is not None:
        raise Refusal(ErrorCode.INVALID_REQUEST, reason.replace("Topic", "Mirror", 1))
    before = image.configs.get((MIRROR, name), {})
    if given.get(mirrors.STATE) == DELETED:
        return _deleted(image, name, before)
    allowed = _CHANGEABLE if before else _CHANGEABLE | _ONLY_AT_FIRST
    for each in given:
        if each not in allowed:
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Setting {each} of mirror {name} cannot be changed.")
    after = {key: value for key, value in {**before, **given}.items() if value is not None}
    after[mirrors.STATE] = _next_state(image, name, before, given).value
    _check(name, after)
    return [
        ConfigRecord(resource_type=MIRROR, resource_name=name, name=key, value=after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def _next_state(
    image: MetadataImage, name: str, before: Mapping[str, str], given: Mapping[str, str | None]
) -> MirrorState:
    wanted = given.get(mirrors.STATE)
    if not before:
        if wanted is not None:
            raise Refusal(ErrorCode.RESOURCE_NOT_FOUND, f"There is no mirror {name}.")
        return MirrorState.CHECKING
    state = MirrorState(before[mirrors.STATE])
    if wanted is None:
        return state
    if wanted not in {each.value for each in _FROM}:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"A mirror cannot be set to the state {wanted}.")
    target = MirrorState(wanted)
    if state not in _FROM[target]:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"Mirror {name} is {state.value} and cannot become {target.value}."
        )
    if target in (MirrorState.PROMOTING, MirrorState.FORCING) and not any(image.mirrored_topics(name)):
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Mirror {name} has no topics to promote.")
    if target is MirrorState.RUNNING and mirrors.SOURCE_CLUSTER not in before:
        return MirrorState.CHECKING
    return target


def _check(name: str, after: Mapping[str, str]) -> None:
    for key in (mirrors.SERVERS, mirrors.TOPICS):
        if not after.get(key):
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Mirror {name} needs the setting {key}.")
    try:
        mirror = Mirror.of(name, after)
        client_settings(mirror)
        topic_filter(mirror)
    except (SettingsError, ConfigError) as error:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"The client settings of mirror {name}: {error}") from None
    except InvalidPattern as error:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"The topics of mirror {name}: {error}") from None
    except ValueError as error:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"The settings of mirror {name}: {error}") from None
    if mirror.bytes_per_second_max < 0:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"{mirrors.THROTTLE} must not be negative: 0 is no limit.")


def _deleted(image: MetadataImage, name: str, before: Mapping[str, str]) -> list[ConfigRecord]:
    if not before:
        raise Refusal(ErrorCode.RESOURCE_NOT_FOUND, f"There is no mirror {name}.")
    held = sorted(each.topic for each in image.mirrored_topics(name) if each.is_read_only)
    if held:
        raise Refusal(
            ErrorCode.POLICY_VIOLATION,
            f"Mirror {name} still writes {len(held)} topic(s), {held[0]} among them: promote it first.",
        )
    return [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=None)
        for kind in (MIRROR, MIRRORED_ACLS)
        for key in image.configs.get((kind, name), {})
    ]
