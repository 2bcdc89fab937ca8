"""Sources of the token of a cluster, and which of them are trusted."""

import os
import stat
from pathlib import Path

import pytest

from penstock.cli.errors import CommandError
from penstock.cli.up.token import find_for_user, given_token, share_with_user, stored_token
from tests.cli.conftest import run_command

SECRET, CLUSTER = bytes(range(32)), "4L6g3nShT-eMCtK--X86sw"


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PENSTOCK_TOKEN", raising=False)
    return tmp_path / "run" / "penstock"


def test_the_token_of_a_member_is_found_by_the_same_user_and_readable_by_no_other(runtime: Path) -> None:
    before = os.umask(0)
    try:
        share_with_user(CLUSTER, SECRET)
    finally:
        os.umask(before)
    assert find_for_user(CLUSTER) == SECRET
    assert stat.S_IMODE((runtime / CLUSTER).stat().st_mode) == 0o600
    assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
    share_with_user(CLUSTER, bytes(32))
    assert find_for_user(CLUSTER) == bytes(32)
    assert [each.name for each in runtime.iterdir()] == [CLUSTER]


def test_without_a_runtime_directory_it_is_in_the_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    share_with_user(CLUSTER, SECRET)
    assert (Path(os.environ["XDG_STATE_HOME"]) / "penstock" / CLUSTER).exists()
    assert find_for_user(CLUSTER) == SECRET
    monkeypatch.setenv("XDG_RUNTIME_DIR", os.environ["XDG_STATE_HOME"] + "/empty")
    assert find_for_user(CLUSTER) == SECRET


def test_a_token_that_others_could_read_or_that_is_invalid_is_ignored(runtime: Path) -> None:
    share_with_user(CLUSTER, SECRET)
    (runtime / CLUSTER).chmod(0o640)
    assert find_for_user(CLUSTER) is None
    (runtime / CLUSTER).chmod(0o600)
    (runtime / CLUSTER).write_text("nonsense")
    assert find_for_user(CLUSTER) is None
    assert find_for_user("unknown") is None


@pytest.mark.parametrize("name", ["../secret", "a/b", "", "x" * 65, "."])
def test_an_id_that_is_no_name_of_a_file_is_not_looked_for(runtime: Path, name: str) -> None:
    share_with_user(CLUSTER, SECRET)
    (runtime.parent / "secret").write_text(SECRET.hex())
    (runtime.parent / "secret").chmod(0o600)
    assert find_for_user(name) is None


def test_a_directory_that_cannot_be_written_is_skipped(runtime: Path) -> None:
    runtime.parent.mkdir()
    runtime.write_text("a file in its place")
    share_with_user(CLUSTER, SECRET)
    assert find_for_user(CLUSTER) is None


def test_the_flag_wins_over_the_file_and_that_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("22" * 32 + "\n")
    assert given_token(None, None) is None
    monkeypatch.setenv("PENSTOCK_TOKEN", "33" * 32)
    assert given_token(None, None) == b"\x33" * 32
    assert given_token(None, str(file)) == b"\x22" * 32
    assert given_token("11" * 32, str(file)) == b"\x11" * 32


@pytest.mark.parametrize("text", ["", "11", "11" * 33, "zz" * 32])
def test_an_invalid_token_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(CommandError, match="is not a token") as refused:
        given_token(None, str(file))
    assert not text or text not in str(refused.value).replace(str(file), "")
    with pytest.raises(CommandError, match="cannot read --token-file"):
        given_token(None, str(tmp_path / "missing"))


def test_the_token_of_several_brokers_in_one_directory_is_found(tmp_path: Path) -> None:
    (tmp_path / "three" / "node-1").mkdir(parents=True)
    assert stored_token(str(tmp_path / "three")) is None
    (tmp_path / "three" / "node-1" / "cluster.secret").write_text(SECRET.hex())
    assert stored_token(str(tmp_path / "three")) == SECRET


def test_a_directory_without_a_token_is_an_error(tmp_path: Path) -> None:
    for data, words in ((tmp_path / "missing", "is not a directory"), (tmp_path, "has no token")):
        done = run_command("cluster", "token", "--data", str(data))
        assert done.returncode != 0
        assert words in done.stderr
    done = run_command("cluster", "token", "--create", "--data", str(tmp_path))
    assert "is not a broker's data directory" in done.stderr
