"""A live broker for tests of the coordinator and the services, as in `tests.server`."""

from tests.server.conftest import client, live, other_broker, pytest_pyfunc_call, runner

__all__ = ["client", "live", "other_broker", "pytest_pyfunc_call", "runner"]
