"""A broker in the loop in which `async def` tests run; every test makes its own topics."""

from tests.server.conftest import live, pytest_pyfunc_call, runner

__all__ = ["live", "pytest_pyfunc_call", "runner"]
