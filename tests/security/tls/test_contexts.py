import logging
from pathlib import Path

import pytest

from penstock.config.broker import BrokerConfig
from penstock.runtime.clock import ManualClock
from penstock.security.tls.contexts import FollowedContext, server_context
from penstock.security.tls.material import TlsUnusable
from tests.support.certificates import authority

AUTHORITY = authority()


class Followed:
    """A context whose settings and files a test changes."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "broker.pem"
        AUTHORITY.issue().write(self.path)
        self.config = BrokerConfig({"ssl.keystore.location": str(self.path)})
        self.clock = ManualClock()
        self.followed = FollowedContext("SSL", lambda: self.config, server_context, self.clock)

    def later(self) -> object:
        self.clock.advance(1000)
        return self.followed.current()


def test_an_unchanged_context_is_kept(tmp_path: Path) -> None:
    tls = Followed(tmp_path)
    first = tls.followed.current()
    assert tls.later() is first


def test_a_changed_file_makes_a_new_context_within_a_second(tmp_path: Path) -> None:
    tls = Followed(tmp_path)
    first = tls.followed.current()
    AUTHORITY.issue(name="another").write(tls.path)
    assert tls.followed.current() is first
    assert tls.later() is not first


def test_a_changed_setting_makes_a_new_context_at_once(tmp_path: Path) -> None:
    tls = Followed(tmp_path)
    first = tls.followed.current()
    other = AUTHORITY.issue(name="another").write(tmp_path / "other.pem")
    tls.config = tls.config.with_dynamic(cluster_wide={}, per_broker={"ssl.keystore.location": str(other)})
    second = tls.followed.current()
    assert second is not first
    tls.config = tls.config.with_dynamic(
        cluster_wide={}, per_broker={"ssl.keystore.location": str(other), "num.io.threads": "4"}
    )
    assert tls.followed.current() is second


def test_a_bad_file_keeps_the_context_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tls = Followed(tmp_path)
    first = tls.followed.current()
    tls.path.write_text("half a certificate")
    with caplog.at_level(logging.ERROR):
        assert tls.later() is first
        assert tls.later() is first
    [record] = caplog.records
    assert "Kept the previous certificates" in record.getMessage()
    AUTHORITY.issue().write(tls.path)
    assert tls.later() is not first


def test_a_missing_file_keeps_the_context(tmp_path: Path) -> None:
    tls = Followed(tmp_path)
    first = tls.followed.current()
    tls.path.unlink()
    assert tls.later() is first


def test_a_start_without_a_valid_context_fails(tmp_path: Path) -> None:
    config = BrokerConfig({"ssl.keystore.location": str(tmp_path / "none.pem")})
    with pytest.raises(TlsUnusable, match=r"listener SSL cannot use TLS: .*none\.pem: No such file"):
        FollowedContext("SSL", lambda: config, server_context, ManualClock())
