"""Where in a Python file a part was declared."""

import inspect
from types import FrameType


def line_in(path: str) -> int:
    """The line of the nearest caller in that file; 0 where there is none."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0


def caller_outside(path: str) -> tuple[str, int]:
    """The file and the line of the nearest caller of the code in the file at `path`."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename in {path, __file__}:
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
