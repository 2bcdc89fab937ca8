"""A real S3 API in a process of its own (moto's server, which also has Glue and IAM), with a bucket for each test.

python -m tests.support.object_store     prints the URL and serves until its standard input ends
"""

import itertools
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

_numbers = itertools.count(1)


class ObjectStore:
    """The server. `options` are those with which a table in it is reached."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.options = {
            "aws_endpoint_url": url,
            "aws_region": "us-east-1",
            "aws_access_key_id": "test",
            "aws_secret_access_key": "secret-of-the-test",
        }

    def client(self, service: str) -> Any:
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="secret-of-the-test",
        )

    def make_bucket(self) -> str:
        name = f"bucket-{next(_numbers)}"
        self.client("s3").create_bucket(Bucket=name)
        return name

    def keys(self, bucket: str) -> list[str]:
        pages = self.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [each["Key"] for page in pages for each in page.get("Contents", ())]

    def check_credentials(self, wanted: bool) -> None:
        """Serve everybody, or only known users by their policies."""
        body = b"0" if wanted else b"inf"
        request = urllib.request.Request(
            f"{self.url}/moto-api/reset-auth", data=body, headers={"Content-Type": "text/plain"}
        )
        urllib.request.urlopen(request).close()


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.object_store"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert re.match(r"http://127\.0\.0\.1:\d+$", url), url
    yield ObjectStore(url)
    process.stdin.close()
    process.wait(30)
    process.stdout.close()


@pytest.fixture
def bucket(object_store: ObjectStore) -> str:
    return object_store.make_bucket()


def main() -> None:
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(f"http://{host}:{port}", flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
