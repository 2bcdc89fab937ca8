"""Runs work for a user of the console in a process of its own, so that neither it nor its end affects the broker.

The module that the process runs limits its own memory and processor time.
"""

import asyncio
import contextlib
import sys


async def run_module(module: str, request: bytes, seconds_max: float) -> tuple[bytes, bool]:
    """Return what the module writes for the request, and whether it ended well. Raises `TimeoutError`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # do not import from the working directory
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(seconds_max):
            output, _ = await process.communicate(request)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return output, process.returncode == 0
