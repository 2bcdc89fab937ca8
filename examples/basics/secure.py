"""TLS and passwords: a broker with a certificate, a user who logs in with SCRAM, and one who does not get in.

This one starts a broker of its own, because a broker must be told to ask for passwords. It has two doors: one for
clients that encrypts and asks who they are, and one on this machine for whoever administers it.
"""

import contextlib
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator

from confluent_kafka import KafkaError, Producer

from examples.basics.common import new_topic
from examples.run import PENSTOCK, say

_READY = re.compile(r"ready on (\S+:\d+), (\S+:\d+)")


def certificate(directory: pathlib.Path) -> pathlib.Path:
    """A key and a certificate that vouches for itself, in one file. Yours comes from somebody that clients trust."""
    key, chain, both = directory / "key.pem", directory / "certificate.pem", directory / "broker.pem"
    command = f"""openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {key} -out {chain}
        -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"""
    say(" ".join(shlex.split(command)))
    subprocess.run(shlex.split(command), check=True, capture_output=True)
    both.write_text(key.read_text() + chain.read_text())
    return both


@contextlib.contextmanager
def broker(directory: pathlib.Path, pem: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Gives the address for clients and the one for administrators."""
    command = [
        *PENSTOCK,
        "up",
        *("--listen", "SASL_SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"),
        *("--data", str(directory / "data")),
        *("--set", "sasl.enabled.mechanisms=SCRAM-SHA-512"),
        *("--set", f"ssl.keystore.location={pem}"),
        *("--set", "penstock.admin.listener="),
    ]
    say(shlex.join(["penstock", *command[len(PENSTOCK) :]]))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        found = _READY.search(process.stdout.readline())
        if found is None:
            raise SystemExit("the broker did not start")
        try:
            yield found[1], found[2]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def log_in(server: str, pem: pathlib.Path, password: str, topic: str) -> str:
    """Send one message as alice; gives what became of it."""
    outcome: list[str] = []
    sending = Producer(
        {
            "bootstrap.servers": server,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(pem.with_name("certificate.pem")),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "alice",
            "sasl.password": password,
            "log_level": 0,
            "message.timeout.ms": 5000,
            "error_cb": lambda error: outcome.append(str(error.name())) if _is_refusal(error) else None,
        }
    )
    sending.produce(
        topic, b"secret", on_delivery=lambda error, _: outcome.append("not sent" if error else "delivered")
    )
    sending.flush(10)
    return outcome[0]


def _is_refusal(error: KafkaError) -> bool:
    return bool(error.code() == KafkaError._AUTHENTICATION)  # noqa: SLF001  librdkafka's own codes are named so


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        pem = certificate(directory)
        with broker(directory, pem) as (server, admin_server):
            topic = new_topic(admin_server, "secrets")
            command = ["user", "add", "alice", "--password", "wonderland", "--bootstrap-server", admin_server]
            say(f"penstock {shlex.join(command)}")
            subprocess.run([*PENSTOCK, *command], check=True)
            print(f"with the right password: {log_in(server, pem, 'wonderland', topic)}")
            print(f"with a wrong password:   {log_in(server, pem, 'looking-glass', topic)}")


if __name__ == "__main__":
    main()
