import json
import uuid

from tests.cli.conftest import Penstock


def test_a_user_is_added_listed_and_removed(penstock: Penstock) -> None:
    name = f"user-{uuid.uuid4()}"
    added = penstock("user", "add", name, "--iterations", "5000", stdin="the password\n")
    assert added.stdout == f"{name} can log in by SCRAM-SHA-256 and SCRAM-SHA-512\n"
    users = json.loads(penstock("user", "list", "--json").stdout)
    assert {"name": name, "mechanisms": {"SCRAM-SHA-256": 5000, "SCRAM-SHA-512": 5000}} in users
    assert name in penstock("user", "list").stdout
    penstock("user", "remove", name, "--mechanism", "scram-sha-256")
    users = json.loads(penstock("user", "list", "--json").stdout)
    assert {"name": name, "mechanisms": {"SCRAM-SHA-512": 5000}} in users
    penstock("user", "remove", name)
    assert name not in penstock("user", "list").stdout


def test_invalid_users_and_mechanisms_are_refused(penstock: Penstock) -> None:
    assert "there is no user nobody" in penstock("user", "remove", "nobody", fails=True).stderr
    assert "the user's name is empty" in penstock("user", "add", "", "--password", "p", fails=True).stderr
    assert "the password is empty" in penstock("user", "add", "x", fails=True).stderr
    wrong = penstock("user", "add", "x", "-m", "PLAIN", "--password", "p", fails=True)
    assert "choose SCRAM-SHA-256 or SCRAM-SHA-512" in wrong.stderr
