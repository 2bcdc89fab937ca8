"""Which Java Spark runs on."""

import os
import subprocess
from pathlib import Path

import pytest

from penstock.spark.java import JavaNotFound, cache_directory, find_java

ALL_MODULES = "java.base jdk.incubator.vector"


def make_java(home: Path, version: str, modules: str = ALL_MODULES, script: str = "exit 0") -> str:
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return str(home)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    ours = make_java(tmp_path / "ours", "17.0.1")
    other = make_java(tmp_path / "other", "17.0.15")
    found = find_java({"JAVA_HOME": ours, "PATH": f"{other}/bin"}, tmp_path)
    assert (found.home, found.version) == (ours, "17.0.1")


def test_a_java_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jvm", "17.0.15")
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr" / "java").symlink_to(Path(home) / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "usr")}, tmp_path).home == home


def test_a_java_that_is_too_old_is_skipped(tmp_path: Path) -> None:
    old = make_java(tmp_path / "old", "1.8.0_402")
    bundled = make_java(tmp_path / "bundled", "17.0.15")
    assert find_java({"JAVA_HOME": old, "PATH": ""}, tmp_path, bundled).home == bundled


def test_without_java_the_error_says_what_was_found_and_what_to_install(tmp_path: Path) -> None:
    old = make_java(tmp_path / "old", "11.0.2")
    with pytest.raises(JavaNotFound, match=r"JAVA_HOME \(.*old\) is Java 11\.0\.2.*penstock-broker\[jre\]"):
        find_java({"JAVA_HOME": old, "PATH": ""}, tmp_path)


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    reported = "echo '    java.home = /somewhere' >&2; echo '    java.version = 17.0.1' >&2"
    home = make_java(tmp_path / "jvm", "0", script=reported)
    os.remove(os.path.join(home, "release"))
    found = find_java({"JAVA_HOME": home, "PATH": ""}, tmp_path)
    assert (found.home, found.major) == ("/somewhere", 17)


def test_a_runtime_without_the_vector_module_is_never_asked_for_it(tmp_path: Path) -> None:
    home = make_java(tmp_path / "it's small", "17.0.8", "java.base", script='printf "%s|" "$@"')
    found = find_java({"JAVA_HOME": home, "PATH": ""}, tmp_path / "cache")
    java = [f"{found.home}/bin/java", "-Da=b c", "--add-modules=jdk.incubator.vector", "Main", "*", ""]
    assert subprocess.run(java, capture_output=True, text=True, check=True).stdout == "-Da=b c|Main|*||"


def test_a_strict_java_is_given_a_class_path_without_repeats(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jvm", "21.0.8", script='printf "%s|" "$@"')
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in ("a.jar", "b.jar", "notes.txt"):
        (jars / name).touch()
    found = find_java({"JAVA_HOME": home, "PATH": ""}, tmp_path / "cache")
    class_path = f"{tmp_path}/conf/:{jars}/b.jar:{jars}/*"
    java = [f"{found.home}/bin/java", "--add-modules=jdk.incubator.vector", "-cp", class_path, "Main", "-cp"]
    reported = subprocess.run(java, capture_output=True, text=True, check=True).stdout
    assert reported == f"--add-modules=jdk.incubator.vector|-cp|{jars}/b.jar:{jars}/a.jar|Main|-cp|"
    assert found.major == 21


def test_the_cache_is_where_the_user_wants_it() -> None:
    assert cache_directory({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/penstock/spark")
    assert cache_directory({"HOME": "/h"}) == Path("/h/.cache/penstock/spark")
